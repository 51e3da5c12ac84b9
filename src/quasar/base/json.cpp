#include "quasar/base/json.hpp"

#include "quasar/base/error.hpp"
#include "quasar/base/json_in.hpp"

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

}  // namespace quasar
