// JSON values, in the order in which they were written, and JSON in texts of others: what need not be JSON, and what is too deep.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "quasar/base/api.hpp"

namespace quasar {

using Json = nlohmann::ordered_json;

// The same text for equal values, whatever the order of their keys: what is hashed and compared.
QUASAR_API std::string canonical(const Json& value);

// Reads JSON text; the error names `source` and the place in the text.
QUASAR_API Json parse_json(const std::string& text, const std::string& source);

// Whoever walks a value calls itself once per level, so parse_json() and json_in() take this many, as YAML's reader does.
inline constexpr size_t most_json_levels = 100;

// How deep lists and mappings stand within each other; right for valid JSON, enough for any other text.
QUASAR_API size_t json_levels(const std::string& text);

// What Python's json module writes, as JSON, which knows neither NaN nor Infinity: null for the one, the largest double for the
// other, outside of texts. Unchanged where there are none.
QUASAR_API std::string json_of_python(const std::string& text);

// The text's value; nullopt: it is not JSON.
QUASAR_API std::optional<Json> json_in(const std::string& text);

}  // namespace quasar
