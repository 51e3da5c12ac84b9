#include "quasar/tune/output_folder.hpp"

#include <regex>

#include "quasar/base/error.hpp"
#include "quasar/base/process.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

const fs::path& made(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (fs::exists(path) && !fs::is_directory(path))
    throw Error("output_dir '" + path.string() + "' is a file, but must be a folder");
  if (code) throw Error("output_dir '" + path.string() + "' cannot be made: " + code.message(), blame_of_writing(code.value()));
  return path;
}

// What write_file() calls FILE.part<process>, of the files that a search writes there, and unfinished(). Whatever else is called
// alike is the user's.
bool is_unfinished(const fs::directory_entry& file) {
  static const std::regex own(
      "(best\\.onnx(\\.data)?|best_params\\.json|best_config\\.yaml|result\\.json|report\\.html|"
      "(opt_history|param_importance)\\.(html|svg)|(.*_)?trial_[0-9]+\\.onnx(\\.data)?)\\.part[0-9]*");
  static const std::regex folder("\\.quasar-results\\.part[0-9]+");
  const std::string name = file.path().filename().string();
  if (file.is_symlink()) return false;
  return file.is_directory() ? std::regex_match(name, folder) : file.is_regular_file() && std::regex_match(name, own);
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& path)
    : path_(path),
      unfinished_(path / (".quasar-results.part" + std::to_string(process_number()))),
      lock_(made(path) / ".quasar-lock", "output_dir '" + path.string() + "'",
            "wait until that search has ended, or choose another output_dir") {
  for (const auto& file : fs::directory_iterator(path)) {
    std::error_code ignored;
    if (is_unfinished(file)) fs::remove_all(file.path(), ignored);
  }
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (made_ && lost().empty()) fs::remove_all(unfinished_, ignored);
}

// Made anew: a link that stands there leads elsewhere.
const fs::path& OutputFolder::unfinished() {
  if (made_) return unfinished_;
  std::error_code code;
  fs::remove_all(unfinished_, code);
  if (!fs::create_directory(unfinished_, code)) {
    if (!code) code = std::make_error_code(std::errc::file_exists);
    throw Error("cannot write in output_dir '" + path_.string() + "': " + code.message(), blame_of_writing(code.value()));
  }
  made_ = true;
  return unfinished_;
}

std::vector<std::string> result_files(const std::vector<std::string>& pieces) {
  std::vector<std::string> out{"best.onnx.data", "best.onnx"};
  for (const auto& piece : pieces) out.insert(out.end(), {piece + ".data", piece});
  out.insert(out.end(), {"best_params.json", "best_config.yaml"});
  return out;
}

void OutputFolder::put_in_place(const std::vector<std::string>& names, const std::string& summary) const {
  const auto clear = [&](const std::string& name) {
    std::error_code ignored;
    if (fs::exists(unfinished_ / name, ignored)) fs::remove(path_ / name, ignored);
  };
  clear(summary);
  for (const auto& name : names) clear(name);
  for (const auto& name : names) move(name);
  move(summary);
}

void OutputFolder::move(const std::string& name) const {
  std::error_code code;
  if (fs::exists(unfinished_ / name, code)) fs::create_directories((path_ / name).parent_path(), code);
  fs::rename(unfinished_ / name, path_ / name, code);
  if (code && code != std::errc::no_such_file_or_directory)
    throw Error("cannot write '" + (path_ / name).string() + "': " + code.message(), blame_of_writing(code.value()));
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
