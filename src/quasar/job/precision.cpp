#include "quasar/job/precision.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "quasar/ops/op.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::tune {
namespace {

constexpr std::string_view prefix = "node ", prefix_of_region = "region ";

bool is_half(const Json& precision) {
  return precision == float16 || precision == bfloat16;
}

}  // namespace

std::string precision_of(const std::string& node) {
  return std::string(prefix) + node;
}

std::string region_of(const std::string& node) {
  return std::string(prefix_of_region) + node;
}

std::vector<std::string> tunable_nodes(const graph::Model& model, const quant::Target& target, Activations activations) {
  const ops::Survey survey = ops::survey(model);
  quant::Config config;
  if (target.shifts()) config.activation.scale_type = config.weight.scale_type = quant::ScaleType::power_of_two;
  std::vector<std::string> names;
  for (const auto& node : model.nodes) {
    std::string why;
    const auto found = survey.quantizable.find(node.name);
    if (found == survey.quantizable.end() || !target.runs(node, found->second, config, why)) continue;
    if (found->second.kind == ops::Kind::compute || found->second.kind == ops::Kind::elementwise) names.push_back(node.name);
  }
  if (activations == Activations::of_any_width) return names;
  const std::set<std::string> within_reach = quant::placeable(graph::Index(model), config, target);
  std::erase_if(names, [&](const std::string& name) { return !within_reach.contains(name); });
  return names;
}

Json config_words(const search::Space& space, const search::Point& point) {
  const Json decoded = space.decode(point);
  Json words = Json::object(), exclude = Json::array(), fallback = Json::array();
  std::map<std::string, std::vector<std::string>> own;  // option -> the nodes that have it
  bool after_rounding = false;
  for (const auto& [key, value] : decoded.items()) {
    if (key.starts_with(prefix_of_region)) {
      exclude.insert(exclude.end(), value.begin(), value.end());
    } else if (key == fallback_parameter) {
      after_rounding = value == fallback_after_rounding;
    } else if (!key.starts_with(prefix)) {
      words[key] = value;
    } else if (value == in_float) {
      fallback.push_back(key.substr(prefix.size()));
    } else if (value.is_object()) {
      own[value.dump()].push_back(key.substr(prefix.size()));
    } else if (is_half(value)) {
      const Json rule{{"spec", value == float16 ? "Float16Spec" : "BFloat16Spec"}};
      own[rule.dump()].push_back(key.substr(prefix.size()));
    }
  }
  for (const auto& [option, nodes] : own) {
    Json rule = parse_json(option, "an operator's option");
    rule["nodes"] = nodes;
    (after_rounding ? words["after_rounding"] : words)["specific_layer_config"].push_back(rule);
  }
  if (after_rounding && !fallback.empty()) {
    words["after_rounding"]["exclude"] = fallback;
  } else {
    exclude.insert(exclude.end(), fallback.begin(), fallback.end());
  }
  if (exclude.empty()) return words;
  if (words.contains("exclude") && !words["exclude"].is_null()) {
    const Json given = words["exclude"];
    for (const auto& element : given.is_array() ? given : Json::array({given})) exclude.push_back(element);
  }
  words["exclude"] = exclude;
  return words;
}

search::Point changed(const search::Space& space, const search::Point& point,
                      std::span<const std::pair<std::string, Json>> changes) {
  Json words = Json::object();
  for (const auto& [name, value] : point.values()) words[name] = value;
  for (const auto& [name, value] : changes) words[name] = value;
  return space.nearest_to(words);
}

std::vector<std::string> float_nodes(const search::Point& point) {
  std::vector<std::string> nodes;
  for (const auto& [name, value] : point.values()) {
    if (name.starts_with(prefix) && (value == in_float || is_half(value))) nodes.push_back(name.substr(prefix.size()));
  }
  return nodes;
}

bool falls_back_to_half(const search::Point& point) {
  return std::ranges::any_of(point.values(),
                             [](const auto& value) { return value.first.starts_with(prefix) && is_half(value.second); });
}

Json precision_at(const search::Point& point, const std::string& node) {
  const Json* found = point.find(precision_of(node));
  return found == nullptr ? Json() : *found;
}

double given_up(const search::Point& point) {
  double sum = 0;
  for (const auto& [name, value] : point.values()) {
    if (!name.starts_with(prefix)) continue;
    if (value == in_float) sum += 1;
    if (is_half(value)) sum += 0.5;
    if (value.is_object() && value.value("activation", std::string()).ends_with("Int16Spec")) sum += 0.25;
  }
  return sum;
}

}  // namespace quasar::tune
