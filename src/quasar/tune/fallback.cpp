#include "quasar/tune/fallback.hpp"

#include <algorithm>

#include "quasar/tune/precision.hpp"

namespace quasar::tune {
namespace {

// Types in order of appearance, with the options that all of their operators have.
std::vector<std::pair<std::string, std::vector<Json>>> options_by_type(const TuningSpace& space) {
  std::vector<std::pair<std::string, std::vector<Json>>> types;
  for (const auto& node : space.nodes) {
    if (node.options.empty()) continue;
    const auto known = std::find_if(types.begin(), types.end(), [&](const auto& type) { return type.first == node.op_type; });
    if (known == types.end()) {
      types.emplace_back(node.op_type, node.options);
    } else {
      std::erase_if(known->second, [&](const Json& option) {
        return std::find(node.options.begin(), node.options.end(), option) == node.options.end();
      });
    }
  }
  std::erase_if(types, [](const auto& type) { return type.second.empty(); });
  return types;
}

}  // namespace

std::vector<TuneConfig> by_op_type(const TuningSpace& space, size_t most) {
  const auto types = options_by_type(space);
  std::vector<size_t> digits(types.size(), 0);
  std::vector<TuneConfig> out;
  while (out.size() < most) {
    size_t place = digits.size();
    while (place > 0 && ++digits[place - 1] == types[place - 1].second.size()) digits[--place] = 0;
    if (place == 0) break;  // back at the default
    TuneConfig config;
    for (const auto& node : space.nodes) {
      for (size_t t = 0; t < types.size(); t++) {
        if (types[t].first == node.op_type && digits[t] > 0) config.nodes[node.name] = types[t].second[digits[t]];
      }
    }
    out.push_back(std::move(config));
  }
  return out;
}

TuneConfig with_float(TuneConfig config, const TuningSpace& space, const std::vector<std::string>& nodes) {
  for (const auto& node : space.nodes) {
    if (node.may_fall_back && std::find(nodes.begin(), nodes.end(), node.name) != nodes.end()) config.nodes[node.name] = in_float;
  }
  return config;
}

std::vector<std::string> quantized_nodes(const TuneConfig& config, const TuningSpace& space) {
  std::vector<std::string> names;
  for (const auto& node : space.nodes) {
    const auto set = config.nodes.find(node.name);
    const bool off = node.options.empty() || (set != config.nodes.end() && set->second == in_float);
    if (!off && node.may_fall_back) names.push_back(node.name);
  }
  return names;
}

void accumulate(Tuner& tuner, TuneConfig config, const std::vector<std::vector<std::string>>& groups) {
  for (const auto& group : groups) {
    config = with_float(std::move(config), tuner.space(), group);
    if (quantized_nodes(config, tuner.space()).empty()) return;  // nothing would be quantized
    tuner.evaluate(config);
  }
}

std::vector<std::string> ranked(std::vector<std::pair<std::string, double>> costs) {
  std::stable_sort(costs.begin(), costs.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  for (const auto& cost : costs) names.push_back(cost.first);
  return names;
}

}  // namespace quasar::tune
