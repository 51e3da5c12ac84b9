// Values in messages, as a configuration has them, and lists of names.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar {

// On one line: JSON, in which numbers that JSON does not have are YAML's .nan, .inf and -.inf, and not null.
std::string as_written(const Json& value);

// Texts that differ in one number only as one: "present.0.key", "present.1.key" -> "present.{0…1}.key". The number may stand in
// a text several times.
std::vector<std::string> folded(const std::vector<std::string>& texts);

}  // namespace quasar
