#include "quasar/base/json.hpp"

#include "quasar/base/error.hpp"

namespace quasar {

std::string canonical(const Json& value) {
  return nlohmann::json(value).dump();
}

Json parse_json(const std::string& text, const std::string& source) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    throw Error(source + ": not valid JSON: " + e.what());
  }
}

}  // namespace quasar
