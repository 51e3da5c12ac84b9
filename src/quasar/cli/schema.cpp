#include "quasar/cli/schema.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "quasar/base/names.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/cli/lists.hpp"
#include "quasar/job/job.hpp"
#include "quasar/quant/config/config_keys.hpp"

namespace quasar::cli {
namespace assets {
std::string_view schemas();  // schemas.json
}

namespace {

constexpr const char* draft = "https://json-schema.org/draft/2020-12/schema";
constexpr const char* of_configuration = "configuration";

const Json& documents() {
  static const Json all = parse_json(std::string(assets::schemas()), "schemas.json");
  return all;
}

// Names that an editor is to offer; others may be right, too.
Json offered(const std::string& list) {
  std::vector<std::string> names;
  for (const auto& one : lists()) {
    if (one.kind != list) continue;
    for (const auto& item : one.describe()) names.push_back(item["name"]);
  }
  return {{"anyOf", {{{"enum", names}}, Json::object()}}};
}

// What stands for the names of a list.
const std::map<std::string, std::string>& list_of_key() {
  static const std::map<std::string, std::string> all{
      {"preset", "presets"}, {"search_algo", "samplers"}, {"pruner", "pruners"},        {"strategy", "strategies"},
      {"target", "targets"}, {"decoder", "decoders"},     {"search_metric", "metrics"}, {"quant_config", "schemes"}};
  return all;
}

Json value_of(const OptionSpec& key) {
  if (const auto list = list_of_key().find(key.name); list != list_of_key().end()) return offered(list->second);
  Json out = Json::object();
  if (!key.choices.empty()) return {{"anyOf", {{{"enum", key.choices}}, {{"type", "string"}}}}};
  if (key.fallback.is_boolean()) out["type"] = "boolean";
  if (key.fallback.is_string()) out["type"] = "string";
  if (key.fallback.is_number()) out["type"] = key.fallback.is_number_integer() ? "integer" : "number";
  if (key.low) out["minimum"] = *key.low;
  if (key.high) out["maximum"] = *key.high;
  return out;
}

// A space says of each key of a configuration what it may be; groups and conditions have names of the user's own.
Json space() {
  Json keys = Json::object();
  for (const auto& name : quant::config_keys()) keys[name] = Json::object();
  return {{"type", {"object", "string", "array", "null"}}, {"properties", keys}};
}

Json configuration() {
  Json keys = Json::object();
  for (const auto& key : tune::job_keys()) {
    Json value = key.name == "search_space" ? space() : value_of(key);
    value["description"] = key.help;
    if (!key.fallback.is_null()) value["default"] = key.fallback;
    keys[key.name] = value;
    for (const auto& alias : key.aliases) keys[alias] = value;
  }
  return {{"title", "a search's configuration"}, {"type", "object"}, {"properties", keys}, {"additionalProperties", false}};
}

}  // namespace

std::vector<std::string> schema_kinds() {
  std::vector<std::string> out{of_configuration};
  for (const auto& [kind, schema] : documents()["kinds"].items()) out.push_back(kind);
  return out;
}

Json schema_of(const std::string& kind) {
  const auto kinds = schema_kinds();
  const auto named = std::ranges::find(kinds, normalized(kind), [](const std::string& one) { return normalized(one); });
  if (named == kinds.end())
    throw Error("there is no schema of '" + kind + "'; known: " + joined(kinds) + did_you_mean(kind, kinds));
  Json out{{"$schema", draft}};
  if (*named == of_configuration) {
    out.update(configuration());
  } else {
    out.update(documents()["kinds"][*named]);
    out["definitions"] = documents()["definitions"];
  }
  return out;
}

}  // namespace quasar::cli
