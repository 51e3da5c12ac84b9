#include "quasar/base/json.hpp"

#include <algorithm>
#include <string_view>

#include "quasar/base/error.hpp"

namespace quasar {

std::string canonical(const Json& value) {
  return nlohmann::json(value).dump();
}

Json parse_json(const std::string& text, const std::string& source) {
  if (const size_t levels = json_levels(text); levels > most_json_levels) {
    throw Error(source + ": lists and mappings stand " + std::to_string(levels) + " deep within each other; " +
                std::to_string(most_json_levels) + " is the most");
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {  // of the syntax, or a number that no double holds
    const std::string why = e.what();
    throw Error(source + ": not valid JSON: " + why.substr(why.find("] ") + 2));  // without "[json.exception.parse_error.101] "
  }
}

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

std::string json_of_python(const std::string& text) {
  if (text.find("NaN") == std::string::npos && text.find("Infinity") == std::string::npos) return text;
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto stands_here = [&](std::string_view word) { return !quoted && text.compare(i, word.size(), word) == 0; };
    const auto replace = [&](std::string_view word, const char* by) {
      out += by;
      i += word.size() - 1;
    };
    if (stands_here("NaN")) {
      replace("NaN", "null");
    } else if (stands_here("Infinity")) {
      replace("Infinity", "1.7976931348623157e308");  // after a sign, the lowest
    } else {
      if (text[i] == '"') quoted = !quoted;
      if (quoted && text[i] == '\\' && i + 1 < text.size()) out += text[i++];
      out += text[i];
    }
  }
  return out;
}

std::optional<Json> json_in(const std::string& text) {
  if (json_levels(text) > most_json_levels) return std::nullopt;
  Json found = Json::parse(text, nullptr, false);
  return found.is_discarded() ? std::nullopt : std::optional(std::move(found));
}

}  // namespace quasar
