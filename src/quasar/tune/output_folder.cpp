#include "quasar/tune/output_folder.hpp"

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
      lock_(made(path) / ".quasar-lock", "output_dir '" + path.string() + "'",
            "wait until that search has ended, or choose another output_dir") {
  // write_file() calls it FILE.part<process>.
  for (const auto& file : fs::directory_iterator(path)) {
    const std::string extension = file.path().extension().string();
    const bool numbered = extension.starts_with(".part") && extension.find_first_not_of("0123456789", 5) == std::string::npos;
    std::error_code ignored;
    if (numbered && file.is_regular_file()) fs::remove(file.path(), ignored);
  }
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
