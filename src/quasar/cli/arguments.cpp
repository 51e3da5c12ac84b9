#include "quasar/cli/arguments.hpp"

#include <filesystem>

#include "quasar/base/error.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/tune/job.hpp"

namespace quasar::cli {

const char* const data_help =
    "a .npz file, a folder of .npy files or of test_data_set_*, 'random', or a .yaml file with a reader";

Json data_argument(const std::string& text) {
  if (text == "random") return text;
  return std::filesystem::absolute(text).string();
}

void apply_settings(Json& words, const std::vector<std::string>& settings) {
  for (const auto& setting : settings) {
    const size_t equal = setting.find('=');
    if (equal == std::string::npos || equal == 0) throw Error("--set " + setting + ": must be KEY=VALUE");
    tune::set_key(words, setting.substr(0, equal), parse_yaml(setting.substr(equal + 1), "--set " + setting),
                  std::filesystem::current_path());
  }
}

}  // namespace quasar::cli
