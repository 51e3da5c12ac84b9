#include "quasar/base/special_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar {
namespace fs = std::filesystem;
namespace {

// The number of an open file of this process, where the path is one of its names: /dev/stdout, /dev/fd/1, /proc/self/fd/1, or a
// link to one. What it was opened for must not be asked: a file would be opened anew, and written from its beginning.
std::optional<int> open_file(fs::path path) {
  constexpr int most_links = 40;
  for (int links = 0; links < most_links; ++links) {
    std::error_code code;
    const fs::path folder = fs::canonical(fs::absolute(path).parent_path(), code);
    const std::string name = path.filename().string();
    if (!code && folder == "/proc/" + std::to_string(::getpid()) + "/fd" && !name.empty() &&
        name.find_first_not_of("0123456789") == std::string::npos)
      return std::atoi(name.c_str());
    const fs::path next = code ? fs::path() : fs::read_symlink(folder / name, code);
    if (code) return std::nullopt;
    path = folder / next;  // an absolute one stands for itself
  }
  return std::nullopt;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// -> an error number, 0: all of it.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

void write_into(const fs::path& path, std::string_view bytes) {
  const auto check = [&](int code) {
    if (code != 0) throw Error("cannot write '" + path.string() + "': " + std::strerror(code), Blame::world);
  };
  const auto number = open_file(path);
  Descriptor file(number ? ::fcntl(*number, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  check(file.number() < 0 ? errno : 0);
  check(write_all(file.number(), bytes));
  check(::close(file.release()) != 0 ? errno : 0);
}

}  // namespace

bool is_special_file(const fs::path& path) {
  if (open_file(path)) return true;
  std::error_code ignored;
  const auto type = fs::status(path, ignored).type();
  return type == fs::file_type::character || type == fs::file_type::fifo;
}

const char* unfit_for_output(const fs::path& path) {
  if (open_file(path)) return "";
  std::error_code ignored;
  switch (fs::status(path, ignored).type()) {
    case fs::file_type::directory:
      return "it is a folder";
    case fs::file_type::block:
      return "it is a block device";
    case fs::file_type::socket:
      return "it is a socket";
    default:
      return "";
  }
}

void write_output(const fs::path& path, std::string_view bytes) {
  if (!is_special_file(path)) return write_file(path, bytes);
  write_into(path, bytes);
}

}  // namespace quasar
