#include "quasar/base/system/open_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "quasar/base/system/windows.hpp"

namespace quasar {
namespace fs = std::filesystem;
namespace {

#ifdef _WIN32
// The system removes the file when its last number is closed.
int open_scratch(const fs::path& folder) {
  for (unsigned number = 0;; ++number) {
    const fs::path file = folder / ("quasar-outputs-" + std::to_string(::GetCurrentProcessId()) + "-" + std::to_string(number));
    const int opened =
        ::_wopen(file.c_str(), _O_RDWR | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT | _O_TEMPORARY, _S_IREAD | _S_IWRITE);
    if (opened >= 0 || errno != EEXIST) return opened;
  }
}

int open_as(const fs::path& path, OpenFile::For what) {
  constexpr int always = _O_BINARY | _O_NOINHERIT, may = _S_IREAD | _S_IWRITE;
  switch (what) {
    case OpenFile::For::reading:
      return ::_wopen(path.c_str(), _O_RDONLY | always);
    case OpenFile::For::writing:
      return ::_wopen(path.c_str(), _O_WRONLY | _O_CREAT | _O_TRUNC | always, may);
    case OpenFile::For::both:
      return ::_wopen(path.c_str(), _O_RDWR | _O_CREAT | always, may);
    case OpenFile::For::outlet:
      return ::_wopen(path.c_str(), _O_WRONLY | always);
    case OpenFile::For::scratch:
      return open_scratch(path);
  }
  return -1;
}

int close_number(int number) {
  return ::_close(number);
}

int duplicate(int number) {
  return ::_dup(number);
}

int failed_with(DWORD code) {
  errno = code == ERROR_DISK_FULL || code == ERROR_HANDLE_DISK_FULL ? ENOSPC : EIO;
  return -1;
}

HANDLE handle_of(int number) {
  return reinterpret_cast<HANDLE>(::_get_osfhandle(number));
}

OVERLAPPED place_of(uint64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

constexpr size_t most_at_once = size_t{1} << 30;

// -> bytes, 0 at the end; -1: it failed
int64_t read_some(int number, uint64_t offset, std::span<std::byte> out) {
  OVERLAPPED place = place_of(offset);
  DWORD count = 0;
  if (::ReadFile(handle_of(number), out.data(), static_cast<DWORD>(std::min(out.size(), most_at_once)), &count, &place) != 0)
    return count;
  return ::GetLastError() == ERROR_HANDLE_EOF ? 0 : failed_with(::GetLastError());
}

int64_t write_some(int number, uint64_t offset, std::span<const std::byte> bytes) {
  OVERLAPPED place = place_of(offset);
  DWORD count = 0;
  if (::WriteFile(handle_of(number), bytes.data(), static_cast<DWORD>(std::min(bytes.size(), most_at_once)), &count, &place) != 0)
    return count;
  return failed_with(::GetLastError());
}

int64_t write_on(int number, std::string_view bytes) {
  return ::_write(number, bytes.data(), static_cast<unsigned>(std::min(bytes.size(), most_at_once)));
}

int flush_number(int number) {
  return ::_commit(number);
}

// Windows keeps everybody else from reading what is locked: bytes are locked that no file has.
std::optional<bool> lock_number(int number, uint64_t offset, uint64_t size) {
  OVERLAPPED place = place_of(offset + (uint64_t{1} << 62));
  constexpr DWORD how = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
  if (::LockFileEx(handle_of(number), how, 0, static_cast<DWORD>(size), static_cast<DWORD>(size >> 32), &place) != 0) return true;
  if (::GetLastError() == ERROR_LOCK_VIOLATION || ::GetLastError() == ERROR_IO_PENDING) return false;
  failed_with(::GetLastError());
  return std::nullopt;
}

// Windows tells of locks only to who tries to take one.
std::optional<bool> number_is_locked(int number, uint64_t offset, uint64_t size) {
  const std::optional<bool> taken = lock_number(number, offset, size);
  if (!taken) return std::nullopt;
  OVERLAPPED place = place_of(offset + (uint64_t{1} << 62));
  if (*taken) ::UnlockFileEx(handle_of(number), 0, static_cast<DWORD>(size), static_cast<DWORD>(size >> 32), &place);
  return !*taken;
}
#else
// It has no name any more once it is open, so that nothing is left behind, however the program ends.
int open_scratch(const fs::path& folder) {
  std::string pattern = (folder / "quasar-outputs-XXXXXX").string();
#ifdef __APPLE__
  const int opened = ::mkstemp(pattern.data());
  if (opened >= 0) ::fcntl(opened, F_SETFD, FD_CLOEXEC);
#else
  const int opened = ::mkostemp(pattern.data(), O_CLOEXEC);
#endif
  if (opened >= 0) ::unlink(pattern.c_str());
  return opened;
}

int open_as(const fs::path& path, OpenFile::For what) {
  switch (what) {
    case OpenFile::For::reading:
      return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    case OpenFile::For::writing:
      return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    case OpenFile::For::both:
      return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    case OpenFile::For::outlet:
      return ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    case OpenFile::For::scratch:
      return open_scratch(path);
  }
  return -1;
}

int close_number(int number) {
  return ::close(number);
}

int duplicate(int number) {
  return ::fcntl(number, F_DUPFD_CLOEXEC, 0);
}

int64_t read_some(int number, uint64_t offset, std::span<std::byte> out) {
  return ::pread(number, out.data(), out.size(), static_cast<off_t>(offset));
}

int64_t write_some(int number, uint64_t offset, std::span<const std::byte> bytes) {
  return ::pwrite(number, bytes.data(), bytes.size(), static_cast<off_t>(offset));
}

int64_t write_on(int number, std::string_view bytes) {
  return ::write(number, bytes.data(), bytes.size());
}

int flush_number(int number) {
  return ::fsync(number);
}

// Open file description locks, which belong to an open file and die with it.
struct flock lock_of(uint64_t offset, uint64_t size) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = static_cast<off_t>(size);
  return lock;
}

std::optional<bool> lock_number(int number, uint64_t offset, uint64_t size) {
  struct flock lock = lock_of(offset, size);
  if (::fcntl(number, F_OFD_SETLK, &lock) == 0) return true;
  return errno == EAGAIN || errno == EACCES ? std::optional(false) : std::nullopt;
}

std::optional<bool> number_is_locked(int number, uint64_t offset, uint64_t size) {
  struct flock lock = lock_of(offset, size);
  return ::fcntl(number, F_OFD_GETLK, &lock) == 0 ? std::optional(lock.l_type != F_UNLCK) : std::nullopt;
}
#endif

}  // namespace

OpenFile::OpenFile(const fs::path& path, For what) : number_(open_as(path, what)) {}

OpenFile::~OpenFile() {
  if (number_ >= 0) close_number(number_);
}

OpenFile::OpenFile(OpenFile&& other) noexcept : number_(other.release()) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

OpenFile OpenFile::same_as(int number) {
  return OpenFile(duplicate(number));
}

int OpenFile::release() {
  return std::exchange(number_, -1);
}

bool OpenFile::close() {
  return close_number(release()) == 0;
}

bool OpenFile::flush() const {
  return flush_number(number_) == 0;
}

std::optional<bool> OpenFile::lock(uint64_t offset, uint64_t size) const {
  return lock_number(number_, offset, size);
}

std::optional<bool> OpenFile::is_locked(uint64_t offset, uint64_t size) const {
  return number_is_locked(number_, offset, size);
}

std::optional<uint64_t> OpenFile::size() const {
#ifdef _WIN32
  struct _stat64 info {};
  if (::_fstat64(number_, &info) != 0 || (info.st_mode & _S_IFMT) != _S_IFREG) return std::nullopt;
#else
  struct stat info {};
  if (::fstat(number_, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
#endif
  return static_cast<uint64_t>(info.st_size);
}

int64_t OpenFile::read_at(uint64_t offset, std::span<std::byte> out) const {
  int64_t sum = 0;
  while (!out.empty()) {
    const int64_t count = read_some(number_, offset, out);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    sum += count;
    offset += static_cast<uint64_t>(count);
    out = out.subspan(static_cast<size_t>(count));
  }
  return sum;
}

bool OpenFile::write_at(uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const int64_t count = write_some(number_, offset, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) return false;
    offset += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

bool OpenFile::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const int64_t count = write_on(number_, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace quasar
