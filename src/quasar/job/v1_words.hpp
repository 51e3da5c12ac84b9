// How v1 writes names, for the files that translate it.
#pragma once

#include <cctype>
#include <string>

#include "quasar/base/json.hpp"
#include "quasar/base/names.hpp"

namespace quasar::tune::v1 {

inline bool same(const std::string& a, const std::string& b) {
  return normalized(a) == normalized(b);
}

// FastFinetune's CamelCase as the hierarchical form writes it.
inline std::string snake_case(const std::string& name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (std::isupper(c) && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1]))) out += '_';
    out += static_cast<char>(std::tolower(c));
  }
  return out;
}

inline Json choices_of(const Json& value) {
  return value.is_array() ? value : Json::array({value});
}

}  // namespace quasar::tune::v1
