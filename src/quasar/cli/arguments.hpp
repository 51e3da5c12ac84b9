// Arguments that several commands take.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::cli {

// DATA on the command line: "random" stays, a path becomes absolute (configurations resolve theirs against their own folder).
Json data_argument(const std::string& text);

// Every --set KEY=VALUE into `words`; the value is YAML ("[true, false]", "0.5", "Percentile").
void apply_settings(Json& words, const std::vector<std::string>& settings);

// Throws Error when no file can be written there: said before the work that would be lost. "": nothing is to be written.
void check_writable(const std::string& option, const std::string& path);

extern const char* const data_help;

}  // namespace quasar::cli
