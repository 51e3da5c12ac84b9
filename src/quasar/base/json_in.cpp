#include "quasar/base/json_in.hpp"

#include <algorithm>

namespace quasar {

// Brackets in texts do not count.
size_t json_levels(const std::string& text) {
  size_t levels = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      deepest = std::max(deepest, ++levels);
    } else if (!quoted && (c == ']' || c == '}') && levels > 0) {
      --levels;
    }
  }
  return deepest;
}

std::optional<Json> json_in(const std::string& text) {
  if (json_levels(text) > most_json_levels) return std::nullopt;
  Json found = Json::parse(text, nullptr, false);
  return found.is_discarded() ? std::nullopt : std::optional(std::move(found));
}

}  // namespace quasar
