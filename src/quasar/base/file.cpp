#include "quasar/base/file.hpp"

#ifndef _WIN32
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <set>
#include <system_error>

#include "quasar/base/error.hpp"
#include "quasar/base/process.hpp"

namespace quasar {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void cannot_read(const fs::path& path, int code) {
  throw Error("cannot read '" + path.string() + "': " + std::strerror(code), blame_of(code));
}

[[noreturn]] void cannot_write(const std::string& doing, const fs::path& path, int code) {
  throw Error(doing + " '" + path.string() + "': " + std::strerror(code), blame_of_writing(code));
}

// For write_file(), which alone knows how the user calls the file. A stream that failed may not say why.
[[noreturn]] void fail_with(int code) {
  throw std::system_error(code != 0 ? code : EIO, std::generic_category());
}

void flush_to_disk(const fs::path& path) {
#ifdef _WIN32
  const OpenFile file(path, OpenFile::For::both);  // Windows flushes for those who may write
#else
  const OpenFile file(path, OpenFile::For::reading);
#endif
  if (!file.is_open()) fail_with(errno);
  if (!file.flush() && errno != EINVAL) fail_with(errno);  // EINVAL: a file system without fsync
}

}  // namespace

bool is_pipe(const fs::path& path) {
  std::error_code ignored;
  const auto type = fs::status(path, ignored).type();
  return (type == fs::file_type::fifo || type == fs::file_type::socket) && !path.string().starts_with("/dev/fd/");
}

std::string read_file(const fs::path& path) {
  if (is_pipe(path)) throw Error("cannot read '" + path.string() + "': it is a pipe, not a file");
  if (fs::is_directory(path)) cannot_read(path, EISDIR);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) cannot_read(path, errno != 0 ? errno : ENOENT);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) cannot_read(path, EIO);
  return bytes;
}

void write_file(const fs::path& path, std::string_view bytes) {
  write_file(path, [bytes](const fs::path& temporary) {
    errno = 0;
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) fail_with(errno);
  });
}

namespace {

// A rename would put a file in their place: as root of /dev/null, too. A link is replaced, not what it leads to.
void expect_replaceable(const fs::path& path) {
  std::error_code ignored;
  const auto type = fs::symlink_status(path, ignored).type();
  const bool is_device = type == fs::file_type::character || type == fs::file_type::block;
  if (is_device || type == fs::file_type::fifo || type == fs::file_type::socket)
    throw Error("cannot write '" + path.string() + "': it is a " + (is_device ? "device" : "pipe") + ", not a file");
}

}  // namespace

void write_file(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  expect_replaceable(path);
  const fs::path temporary = path.string() + ".part" + std::to_string(process_number());
  std::error_code nothing_there;
  fs::remove(temporary, nothing_there);  // a link would be followed
  try {
    fill(temporary);
    flush_to_disk(temporary);
    fs::rename(temporary, path);
  } catch (const std::system_error& e) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    cannot_write("cannot write", path, e.code().value());
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
}

namespace {

constexpr const char* temporary_name = "quasar-work-";

#ifdef _WIN32
OpenFile locked(const fs::path&) {
  return {};
}

void remove_left_over(const fs::path&) {}

// "": it cannot be made, and errno says why.
fs::path made_in(const fs::path& parent) {
  static std::atomic<uint64_t> count = 0;
  for (;;) {
    const fs::path folder = parent / (temporary_name + std::to_string(process_number()) + "-" + std::to_string(count++));
    std::error_code code;
    if (fs::create_directory(folder, code)) return folder;
    if (!code) continue;  // it was there: the next name
    errno = code.value();
    return {};
  }
}
#else
// The lock of a folder ends with its process, however that ends, and holds between containers that share the parent. None: it is
// somebody else's, or cannot be locked on this file system.
OpenFile locked(const fs::path& folder) {
  OpenFile file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (file.is_open() && ::flock(file.number(), LOCK_EX | LOCK_NB) == 0) return file;
  return {};
}

// This user's, and not so new that it may have been made but not locked yet.
bool may_be_left_over(const fs::path& folder) {
  struct stat info {};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         std::time(nullptr) - info.st_mtime > 60;
}

void remove_left_over(const fs::path& parent) {
  static std::mutex guard;
  static std::set<fs::path> done;
  const std::lock_guard lock(guard);
  if (!done.insert(parent).second) return;
  std::error_code ignored;
  for (auto entry = fs::directory_iterator(parent, ignored); entry != fs::directory_iterator(); entry.increment(ignored)) {
    const fs::path folder = entry->path();
    if (!folder.filename().string().starts_with(temporary_name) || !may_be_left_over(folder)) continue;
    const OpenFile file = locked(folder);
    if (file.is_open()) fs::remove_all(folder, ignored);
  }
}

// "": it cannot be made, and errno says why.
fs::path made_in(const fs::path& parent) {
  std::string pattern = (parent / (std::string(temporary_name) + "XXXXXX")).string();
  return ::mkdtemp(pattern.data()) == nullptr ? fs::path() : fs::path(pattern);
}
#endif

}  // namespace

TemporaryFolder::TemporaryFolder(const fs::path& parent) {
  std::error_code code;
  fs::create_directories(parent, code);
  remove_left_over(parent);
  path_ = made_in(parent);
  if (path_.empty()) cannot_write("cannot create a folder in", parent, errno);
  lock_ = locked(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace quasar
