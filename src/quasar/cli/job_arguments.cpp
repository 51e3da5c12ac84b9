#include "quasar/cli/job_arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/cli/arguments.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/strategy/parse_job.hpp"

namespace quasar::cli {
namespace fs = std::filesystem;

void JobArguments::define(CLI::App& app) {
  app.add_option("config", config_, "a .yaml or .json file; command-line options win over it");
  app.add_option("--model", model_, "the float ONNX model");
  app.add_option("--calib", calibration_, std::string("calibration samples: ") + data_help);
  app.add_option("--eval", evaluation_, "evaluation samples, likewise");
  app.add_option("--holdout", holdout_, "hold-out samples, likewise");
  app.add_flag("--as-is", as_is_, as_is_help);
  app.add_option("--preset", preset_, "a named search; see `quasar list presets`");
  app.add_option("--set", settings_, "KEY=VALUE replaces one key, for example n_trials=50 or search_space.exclude='[conv1]'");
  app.add_option("--output-dir", output_dir_, "where results go (default quasar_out beside the configuration)");
}

namespace {

// --set preset=NAME: it must be known before the preset's keys are there to be set.
std::vector<std::string> choices_of_preset(std::vector<std::string> settings) {
  std::erase_if(settings,
                [](const std::string& setting) { return normalized(setting.substr(0, setting.find('='))) != "preset"; });
  return settings;
}

}  // namespace

void JobArguments::use(Json words, fs::path folder) {
  words_ = std::move(words);
  folder_ = std::move(folder);
}

std::set<std::string> JobArguments::given_files() const {
  std::set<std::string> out;
  const std::vector<std::pair<const char*, const std::string*>> options{
      {"model_input", &model_}, {"calib_data_reader", &calibration_}, {"eval_data_reader", &evaluation_}};
  for (const auto& [key, value] : options) {
    if (!value->empty()) out.insert(key);
  }
  for (const auto& setting : settings_) {
    Json key = Json::object();
    key[setting.substr(0, std::min(setting.find('='), setting.find('.')))] = nullptr;
    const Json canonical = tune::canonical_keys(key);
    out.insert(canonical.begin().key());
  }
  return out;
}

// --as-is holds for those that are folders.
void JobArguments::add_data(Json& words) const {
  const std::vector<std::pair<const char*, const std::string*>> options{
      {"calib_data_reader", &calibration_}, {"eval_data_reader", &evaluation_}, {"holdout_data_reader", &holdout_}};
  const auto is_folder = [](const auto& option) { return fs::is_directory(*option.second); };
  if (as_is_ && std::ranges::none_of(options, is_folder))
    throw Error(
        "--as-is is for folders of pictures, and none is given (--calib, --eval, --holdout); a .yaml file with a reader says "
        "`as_is: true`");
  for (const auto& option : options) {
    if (!option.second->empty()) words[option.first] = data_argument(*option.second, as_is_ && is_folder(option));
  }
}

tune::Job JobArguments::read(const std::function<void(Json&)>& amend) const {
  if (output_dir_ == "-") throw Error("--output-dir is '-', but results are files in a folder; write ./- for one of that name");
  Json words = words_ ? *words_ : config_.empty() ? Json::object() : tune::read_words(config_);
  if (words.is_null()) throw Error(config_ + " is empty, but must be a mapping of keys");
  if (!words.is_object()) throw Error(config_ + ": a configuration must be a mapping, not " + words.dump());
  words = tune::canonical_keys(words);
  if (!model_.empty()) words["model_input"] = fs::absolute(model_).string();
  add_data(words);
  if (!preset_.empty()) words["preset"] = preset_;
  if (!output_dir_.empty()) words["output_dir"] = fs::absolute(output_dir_).string();
  amend(words);
  apply_settings(words, choices_of_preset(settings_));
  words = tune::with_preset(words);  // so that --set reaches into what the preset says
  apply_settings(words, settings_);
  if (words_) return tune::parse_job(words, folder_);
  return tune::parse_job(words, config_.empty() ? fs::current_path() : fs::absolute(config_).parent_path());
}

}  // namespace quasar::cli
