#include "quasar/base/system/file_facts.hpp"

#ifdef _WIN32
#include <io.h>
#else
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <cerrno>

#include "quasar/base/system/windows.hpp"

namespace quasar {

#ifdef _WIN32
namespace {

constexpr int readable = 4, writable = 2;  // of _waccess()

std::optional<FileIdentity> identity_of(HANDLE file) {
  BY_HANDLE_FILE_INFORMATION info{};
  if (::GetFileInformationByHandle(file, &info) == 0) return std::nullopt;
  return FileIdentity(info.dwVolumeSerialNumber, uint64_t{info.nFileIndexHigh} << 32 | info.nFileIndexLow);
}

}  // namespace

bool may_read(const std::filesystem::path& path) {
  return ::_waccess(path.c_str(), readable) == 0;
}

bool may_write(const std::filesystem::path& path) {
  return ::_waccess(path.c_str(), writable) == 0;
}

bool may_make_files_in(const std::filesystem::path& folder) {
  return may_write(folder);
}

std::optional<FileIdentity> file_identity(const std::filesystem::path& path) {
  const HANDLE file = ::CreateFileW(path.c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    const bool none = ::GetLastError() == ERROR_FILE_NOT_FOUND || ::GetLastError() == ERROR_PATH_NOT_FOUND;
    return none ? std::optional(FileIdentity()) : std::nullopt;
  }
  const auto found = identity_of(file);
  ::CloseHandle(file);
  return found;
}

std::optional<FileIdentity> file_identity(const OpenFile& file) {
  return identity_of(reinterpret_cast<HANDLE>(::_get_osfhandle(file.number())));
}
#else
bool may_read(const std::filesystem::path& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

bool may_write(const std::filesystem::path& path) {
  return ::access(path.c_str(), W_OK) == 0;
}

bool may_make_files_in(const std::filesystem::path& folder) {
  return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

std::optional<FileIdentity> file_identity(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return FileIdentity(info.st_dev, info.st_ino);
  return errno == ENOENT || errno == ENOTDIR ? std::optional(FileIdentity()) : std::nullopt;
}

std::optional<FileIdentity> file_identity(const OpenFile& file) {
  struct stat info {};
  return ::fstat(file.number(), &info) == 0 ? std::optional(FileIdentity(info.st_dev, info.st_ino)) : std::nullopt;
}
#endif

}  // namespace quasar
