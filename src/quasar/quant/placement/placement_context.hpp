// What every question about a node's place needs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "quasar/graph/model.hpp"
#include "quasar/ops/deciding_sizes.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

class WeightMemo;

constexpr const char* decides_sizes = "how many values the model gives depends on what it computes";

// All outlive it; place() says what they are.
struct PlacementContext {
  const graph::Index& index;
  const Config& config;
  const Target& target;
  const stats::Statistics& seen;
  const std::set<std::string>& barred;
  WeightMemo* memo;
  const std::map<std::string, std::string>& left;
  bool without_samples = false;  // lengths that only samples tell are no obstacle
  const std::set<std::string> deciding_sizes = ops::nodes_deciding_sizes(index);

  const graph::Model& model() const { return index.model(); }
  bool on(std::string_view key) const { return is_on(config.switches, key, target.shifts()); }

  // What a target asks about the node.
  Config config_of(const graph::Node& node) const {
    const LayerRule* rule = rule_for(node, config);
    if (rule == nullptr) return config;
    Config own;
    own.saturation = config.saturation;
    own.activation = rule->activation;
    own.weight = rule->weight;
    return own;
  }
  const Scheme& activation_of(const graph::Node& node) const {
    const LayerRule* rule = rule_for(node, config);
    return rule == nullptr ? config.activation : rule->activation;
  }
  const Scheme& weight_of(const graph::Node& node) const {
    const LayerRule* rule = rule_for(node, config);
    return rule == nullptr ? config.weight : rule->weight;
  }
};

}  // namespace quasar::quant
