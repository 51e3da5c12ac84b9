#include "quasar/base/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "quasar/base/error.hpp"

namespace quasar {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string& doing, const fs::path& path, int code) {
  const bool users = code == ENOENT || code == EACCES || code == EISDIR || code == ENOTDIR;
  throw Error(doing + " '" + path.string() + "': " + std::strerror(code), users ? Blame::user : Blame::world);
}

void flush_to_disk(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) fail("cannot open", path, errno);
  const int result = ::fsync(file);
  const int code = errno;
  ::close(file);
  if (result != 0 && code != EINVAL) fail("cannot write", path, code);  // EINVAL: a file system without fsync
}

}  // namespace

std::string read_file(const fs::path& path) {
  if (fs::is_directory(path)) fail("cannot read", path, EISDIR);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot read", path, errno != 0 ? errno : ENOENT);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) fail("cannot read", path, EIO);
  return bytes;
}

void write_file(const fs::path& path, std::string_view bytes) {
  write_file(path, [&path, bytes](const fs::path& temporary) {
    errno = 0;
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) fail("cannot write", path, errno != 0 ? errno : EIO);
  });
}

void write_file(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  const fs::path temporary = path.string() + ".part" + std::to_string(::getpid());
  try {
    fill(temporary);
    flush_to_disk(temporary, O_RDONLY);
    fs::rename(temporary, path);
  } catch (const fs::filesystem_error& e) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    fail("cannot write", path, e.code().value());
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
}

TemporaryFolder::TemporaryFolder(const fs::path& parent) {
  std::error_code code;
  fs::create_directories(parent, code);
  std::string pattern = (parent / "quasar-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail("cannot create a folder in", parent, errno);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace quasar
