#include "quasar/base/file_lock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <span>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/process.hpp"
#include "quasar/base/system/calendar.hpp"
#include "quasar/base/system/file_facts.hpp"

namespace quasar {
namespace {

// A record says in words who holds it; the words are for people, the lock on its bytes is what counts.
constexpr size_t record_size = 128;
using Record = std::array<char, record_size>;

uint64_t place_of(int64_t record) {
  return static_cast<uint64_t>(record) * record_size;
}

std::string holder() {
  const std::tm utc = in_utc(std::time(nullptr));
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S UTC", &utc);
  return process_name() + " since " + time.data();
}

void write_record(const OpenFile& file, int64_t record, const std::string& words) {
  Record bytes;
  bytes.fill(' ');
  bytes.back() = '\n';
  std::copy_n(words.begin(), std::min(words.size(), record_size - 1), bytes.begin());
  // The words are a courtesy: where they cannot be written, the lock holds all the same.
  static_cast<void>(file.write_at(place_of(record), std::as_bytes(std::span(bytes))));
}

std::string read_record(const OpenFile& file, int64_t record) {
  Record bytes{};
  const int64_t count = file.read_at(place_of(record), std::as_writable_bytes(std::span(bytes)));
  const std::string words(bytes.data(), count > 0 ? static_cast<size_t>(count) : 0);
  const size_t end = words.find_last_not_of(std::string(" \n\0", 3));
  return end == std::string::npos ? "another process" : words.substr(0, end + 1);
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file, int64_t record)
    : name_(file), file_(file, OpenFile::For::both), record_(record) {
  if (!file_.is_open() && errno == ELOOP)
    throw Error("'" + file.string() + "' is a symbolic link, which a lock does not follow: remove it");
  if (!file_.is_open()) throw Error("cannot open '" + file.string() + "': " + std::strerror(errno), blame_of_writing(errno));
}

FileLock::FileLock(const std::filesystem::path& file, const std::string& what, const std::string& way_out, int64_t record)
    : FileLock(file, record) {
  if (!take()) throw Error(what + " is in use by " + read_record(file_, record) + "; " + way_out);
}

FileLock::FileLock(const std::filesystem::path& file, const std::function<void(const std::string& holder)>& busy, int64_t record)
    : FileLock(file, record) {
  // Asked again and again: a blocking wait could not be cancelled.
  for (bool told = false; !take(); told = true) {
    if (!told) busy(read_record(file_, record));
    throw_if_cancelled();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

bool FileLock::take() {
  const auto taken = file_.lock(place_of(record_), record_size);
  if (!taken) throw Error("cannot lock '" + name_.string() + "': " + std::strerror(errno), blame_of_writing(errno));
  if (!*taken) return false;
  held_ = true;
  words_ = holder();
  write_record(file_, record_, words_);
  return true;
}

std::optional<bool> FileLock::is_held(const std::filesystem::path& file, int64_t record) {
  const OpenFile there(file, OpenFile::For::reading);
  return there.is_open() ? there.is_locked(place_of(record), record_size) : std::nullopt;
}

// Two signs, as there are file systems whose numbers of files change, and disks too full for the words.
bool FileLock::has_another() const {
  const auto mine = file_identity(file_), there = file_identity(name_);
  if (!mine || !there || *there == FileIdentity() || *mine == *there) return false;
  std::error_code ignored;
  if (std::filesystem::is_symlink(name_, ignored)) return true;
  const OpenFile other(name_, OpenFile::For::reading);
  return !other.is_open() || read_record(other, record_) != words_;
}

FileLock::~FileLock() {
  if (held_) write_record(file_, record_, "");
}

}  // namespace quasar
