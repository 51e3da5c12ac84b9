#include "quasar/base/files/special_files.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/process.hpp"
#include "quasar/base/system/file_facts.hpp"
#include "quasar/base/system/open_file.hpp"

namespace quasar {
namespace fs = std::filesystem;
namespace {

// The number of an open file of this process, where the path is one of its names: /dev/stdout, /dev/fd/1, /proc/self/fd/1, or a
// link to one. What it was opened for must not be asked: a file would be opened anew, and written from its beginning.
std::optional<int> open_file(fs::path path) {
#ifdef _WIN32
  return path == "/dev/stdout" ? std::optional(1) : std::nullopt;  // what '-' stands for; there are no such files
#else
  constexpr int most_links = 40;
  for (int links = 0; links < most_links; ++links) {
    std::error_code code;
    const fs::path folder = fs::canonical(fs::absolute(path).parent_path(), code);
    const std::string name = path.filename().string();
    const bool holds_numbers = folder == "/proc/" + std::to_string(process_number()) + "/fd" || folder == "/dev/fd";
    if (!code && holds_numbers && !name.empty() && name.find_first_not_of("0123456789") == std::string::npos)
      return std::atoi(name.c_str());
    const fs::path next = code ? fs::path() : fs::read_symlink(folder / name, code);
    if (code) return std::nullopt;
    path = folder / next;  // an absolute one stands for itself
  }
  return std::nullopt;
#endif
}

void write_into(const fs::path& path, std::string_view bytes) {
  const auto check = [&](bool good) {
    if (!good) throw Error("cannot write '" + path.string() + "': " + std::strerror(errno), blame_of_writing(errno));
  };
  const auto number = open_file(path);
  OpenFile file = number ? OpenFile::same_as(*number) : OpenFile(path, OpenFile::For::outlet);
  check(file.is_open());
  check(file.write(bytes));
  check(file.close());
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

void check_writable(const std::string& what, const fs::path& path) {
  const auto fail = [&](const std::string& why) { throw Error(what + ": cannot write '" + path.string() + "': " + why); };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail(std::strerror(EISDIR));
  if (const std::string why = unfit_for_output(path); !why.empty()) fail(why);
  if (is_special_file(path)) return;
  const fs::path folder = fs::absolute(path).parent_path();
  if (!fs::exists(folder, ignored)) fail(std::strerror(ENOENT));
  if (!fs::is_directory(folder, ignored)) fail(std::strerror(ENOTDIR));
  if (!may_make_files_in(folder)) fail(std::strerror(errno));
}

void write_output(const fs::path& path, std::string_view bytes) {
  if (!is_special_file(path)) return write_file(path, bytes);
  write_into(path, bytes);
}

}  // namespace quasar
