#include "quasar/tune/output_folder.hpp"

#include <unistd.h>

#include "quasar/base/error.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

const fs::path& made(const fs::path& path) {
  fs::create_directories(path);
  return path;
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& path)
    : path_(path),
      unfinished_(path / ("results.part" + std::to_string(::getpid()))),
      lock_(made(path) / ".quasar-lock", "output_dir '" + path.string() + "'",
            "wait until that search has ended, or choose another output_dir") {
  // write_file() calls it FILE.part<process>, unfinished() alike.
  for (const auto& file : fs::directory_iterator(path)) {
    const std::string extension = file.path().extension().string();
    const bool numbered = extension.starts_with(".part") && extension.find_first_not_of("0123456789", 5) == std::string::npos;
    std::error_code ignored;
    if (!numbered || file.is_symlink()) continue;
    if (file.is_regular_file() || file.is_directory()) fs::remove_all(file.path(), ignored);
  }
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (lost().empty()) fs::remove_all(unfinished_, ignored);
}

const fs::path& OutputFolder::unfinished() {
  std::error_code code;
  fs::create_directory(unfinished_, code);
  if (code) throw Error("cannot write in output_dir '" + path_.string() + "': " + code.message(), Blame::world);
  return unfinished_;
}

void OutputFolder::put_in_place(std::initializer_list<const char*> names, const char* summary) const {
  std::error_code ignored;
  if (fs::exists(unfinished_ / summary, ignored)) fs::remove(path_ / summary, ignored);
  for (const char* name : names) move(name);
  move(summary);
}

void OutputFolder::move(const char* name) const {
  std::error_code code;
  fs::rename(unfinished_ / name, path_ / name, code);
  if (code && code != std::errc::no_such_file_or_directory)
    throw Error("cannot write '" + (path_ / name).string() + "': " + code.message(), Blame::world);
}

std::string OutputFolder::lost() const {
  std::error_code code;
  const bool there = fs::exists(path_, code) || code;
  if (there && !lock_.has_another()) return "";
  return "output_dir '" + path_.string() + "' was removed or renamed while the search ran" +
         (there ? ", another search has taken its name, and nothing of this one is written there"
                : ", and nothing can be written there") +
         "; if it was renamed, --resume goes on under its new name";
}

}  // namespace quasar::tune
