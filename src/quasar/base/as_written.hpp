// Values in messages, as a configuration has them.
#pragma once

#include <string>

#include "quasar/base/json.hpp"

namespace quasar {

// On one line: JSON, in which numbers that JSON does not have are YAML's .nan, .inf and -.inf, and not null.
std::string as_written(const Json& value);

}  // namespace quasar
