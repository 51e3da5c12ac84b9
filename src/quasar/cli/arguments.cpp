#include "quasar/cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "quasar/base/error.hpp"
#include "quasar/base/files/special_files.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/system/terminal.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/job/job.hpp"
#include "quasar/quant/config/option_keys.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::cli {

const char* const data_help =
    "a .npz file, a folder of .npy files, of pictures or of test_data_set_*, 'random', or a .yaml file with a reader";

void OperatorLibraries::define(CLI::App& app) {
  app.add_option("--custom-op-library", paths_,
                 "a shared library with operators that ONNX Runtime does not have; may be given several times");
}

void OperatorLibraries::load() const {
  for (const auto& path : paths_) runtime::load_custom_operators(path);
}

const char* const as_is_help = "folders of pictures: the model takes values of 0 to 255 as they are";

Json data_argument(const std::string& text, bool as_is) {
  const bool is_folder = text != "random" && std::filesystem::is_directory(text);
  if (as_is && !is_folder)
    throw Error("--as-is is for folders of pictures, which '" + text + "' is not; a .yaml file with a reader says `as_is: true`");
  if (text == "random") return text;
  const std::string path = std::filesystem::absolute(text).string();
  if (as_is) return {{"reader", "images"}, {"path", path}, {"as_is", true}};
  return path;
}

namespace {

// A setting replaces what the scheme or the file says under another name of the same parameter; two settings that contradict
// each other remain an error.
void forget_other_names(Json& words, const std::vector<std::string>& settings) {
  if (!words.is_object()) return;
  const auto is_set = [&](const std::string& key) {
    const auto names = [&](const std::string& setting) {
      return normalized(setting.substr(0, setting.find('='))) == normalized(key);
    };
    return std::ranges::any_of(settings, names);
  };
  for (const auto& alias : quant::option_aliases()) {
    if (is_set(alias.key) && words.contains(alias.group) && words[alias.group].is_object())
      words[alias.group].erase(alias.parameter);
    if (is_set(alias.group + "." + alias.parameter)) words.erase(alias.key);
  }
}

}  // namespace

namespace {

// One key under two names, as `storage` and `study_storage_db`: neither would be heard more than the other. The same name again
// replaces what was said before.
void refuse_other_names(const std::vector<std::string>& settings) {
  std::map<std::string, std::string> said;  // by the key's own name
  for (const auto& setting : settings) {
    const std::string key = setting.substr(0, setting.find('='));
    if (key.empty() || key.find('.') != std::string::npos) continue;
    const Json canonical = tune::canonical_keys({{key, nullptr}});
    const auto [first, fresh] = said.emplace(canonical.begin().key(), key);
    if (!fresh && normalized(first->second) != normalized(key))
      throw Error("--set " + first->second + " and --set " + key + " are two names of one key; give one of them");
  }
}

}  // namespace

void apply_settings(Json& words, const std::vector<std::string>& settings) {
  refuse_other_names(settings);
  forget_other_names(words, settings);
  for (const auto& setting : settings) {
    const size_t equal = setting.find('=');
    if (equal == std::string::npos || equal == 0) throw Error("--set " + setting + ": must be KEY=VALUE");
    tune::set_key(words, setting.substr(0, equal), parse_yaml(setting.substr(equal + 1), "--set " + setting),
                  std::filesystem::current_path());
  }
}

CLI::Option* add_output(CLI::App& app, const std::string& names, std::string& path, const std::string& help) {
  const auto place = [](const std::string& typed) { return typed == "-" ? std::string("/dev/stdout") : typed; };
  return app.add_option(names, path, help + "; '-' is standard output")->transform(place);
}

void check_outputs(const std::vector<Output>& outputs, OverwriteGuard files) {
  std::string printed;  // the option whose file is standard output
  for (const auto& [option, path] : outputs) {
    if (path.empty()) continue;
    check_writable(option, path);
    if (is_special_file(path) && is_standard_output(path))
      std::cout.rdbuf(std::cerr.rdbuf());  // what else is said must not stand in the file
    std::error_code ignored;
    if (is_special_file(path) && is_standard_output(path) && !std::filesystem::is_character_file(path, ignored)) {
      if (!printed.empty()) throw Error(option + ": standard output is what " + printed + " writes to, too; choose a file");
      printed = option;
    }
    files.writes(path, option);
  }
  files.check();
}

}  // namespace quasar::cli
