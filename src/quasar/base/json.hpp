// JSON values, in the order in which they were written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace quasar {

using Json = nlohmann::ordered_json;

// The same text for equal values, whatever the order of their keys: what is hashed and compared.
std::string canonical(const Json& value);

// Reads JSON text; the error names `source` and the place in the text.
Json parse_json(const std::string& text, const std::string& source);

}  // namespace quasar
