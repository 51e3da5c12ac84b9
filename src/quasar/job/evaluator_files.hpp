// Files that a search_evaluator names: programs, scripts, libraries, data.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "quasar/base/json.hpp"

namespace quasar::tune {

// By their names as written, FILE or FILE:FUNCTION in any text of `words`, also in a line for the shell, but for what that
// writes; relative ones from `base`. Files that are not there, and programs that are found by PATH, are not among them.
std::map<std::string, std::filesystem::path> evaluator_files(const Json& words, const std::filesystem::path& base);

}  // namespace quasar::tune
