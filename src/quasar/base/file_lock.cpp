#include "quasar/base/file_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/process.hpp"

namespace quasar {
namespace {

// A record says in words who holds it; the words are for people, the lock on its bytes is what counts.
constexpr size_t record_size = 128;
using Record = std::array<char, record_size>;

struct flock lock_of(short type, int64_t record) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(record) * static_cast<off_t>(record_size);
  lock.l_len = static_cast<off_t>(record_size);
  return lock;
}

std::string holder() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S UTC", &utc);
  return process_name() + " since " + time.data();
}

void write_record(int file, int64_t record, const std::string& words) {
  Record bytes;
  bytes.fill(' ');
  bytes.back() = '\n';
  std::copy_n(words.begin(), std::min(words.size(), record_size - 1), bytes.begin());
  // The words are a courtesy: where they cannot be written, the lock holds all the same.
  if (::pwrite(file, bytes.data(), bytes.size(), lock_of(F_WRLCK, record).l_start) < 0) return;
}

std::string read_record(int file, int64_t record) {
  Record bytes{};
  const auto count = ::pread(file, bytes.data(), bytes.size(), lock_of(F_WRLCK, record).l_start);
  const std::string words(bytes.data(), count > 0 ? static_cast<size_t>(count) : 0);
  const size_t end = words.find_last_not_of(std::string(" \n\0", 3));
  return end == std::string::npos ? "another process" : words.substr(0, end + 1);
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file, int64_t record)
    : name_(file), file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644)), record_(record) {
  if (file_ < 0 && errno == ELOOP)
    throw Error("'" + file.string() + "' is a symbolic link, which a lock does not follow: remove it");
  if (file_ < 0) throw Error("cannot open '" + file.string() + "': " + std::strerror(errno), Blame::world);
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
  struct flock lock = lock_of(F_WRLCK, record_);
  if (::fcntl(file_, F_OFD_SETLK, &lock) == 0) {
    held_ = true;
    words_ = holder();
    write_record(file_, record_, words_);
    return true;
  }
  if (errno == EAGAIN || errno == EACCES) return false;
  throw Error("cannot lock '" + name_.string() + "': " + std::strerror(errno), Blame::world);
}

// Two signs, as there are file systems whose numbers of files change, and disks too full for the words.
bool FileLock::has_another() const {
  struct stat mine {
  }, there{};
  if (::fstat(file_, &mine) != 0 || ::stat(name_.c_str(), &there) != 0) return false;
  if (mine.st_dev == there.st_dev && mine.st_ino == there.st_ino) return false;
  const int other = ::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (other < 0) return true;
  const std::string words = read_record(other, record_);
  ::close(other);
  return words != words_;
}

FileLock::~FileLock() {
  if (held_) write_record(file_, record_, "");
  ::close(file_);
}

}  // namespace quasar
