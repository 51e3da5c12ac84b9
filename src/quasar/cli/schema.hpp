// JSON Schemas (draft 2020-12) of what the program reads and writes: a configuration, and each command's --json.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::cli {

// "configuration", and the kinds of schemas.json.
std::vector<std::string> schema_kinds();

// Stands by itself. Throws Error for an unknown kind, with the nearest known one.
Json schema_of(const std::string& kind);

}  // namespace quasar::cli
