#include "quasar/quant/node_schemes.hpp"

namespace quasar::quant {
namespace {

// Calibration may differ: then the producer's holds.
bool same_grid(const Scheme& a, const Scheme& b) {
  return a.type == b.type && a.symmetric == b.symmetric && a.scale_type == b.scale_type;
}

}  // namespace

NodeSchemes::NodeSchemes(const graph::Index& index, const Placement& placement, const Config& config)
    : index_(index), placement_(placement), usual_{&config.activation, &config.weight} {
  if (config.layers.empty() && !config.products) return;
  for (const auto& node : index.model().nodes) {
    const ops::Roles* roles = placement.roles(&node);
    if (roles == nullptr) continue;
    if (const LayerRule* rule = rule_for(node, config)) {
      nodes_[node.name] = {&rule->activation, &rule->weight};
    } else if (roles->kind == ops::Kind::movement || roles->kind == ops::Kind::activation) {
      const graph::Node* producer = index.producer(node.inputs[roles->activations.front()]);
      if (producer != nullptr && nodes_.contains(producer->name)) nodes_[node.name] = nodes_.at(producer->name);
    }
  }
}

const NodeScheme& NodeSchemes::of(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? usual_ : found->second;
}

const Scheme& NodeSchemes::written(const std::string& value) const {
  if (nodes_.empty()) return *usual_.activation;
  const graph::Node* producer = index_.producer(value);
  if (placement_.roles(producer) != nullptr) return *of(producer->name).activation;
  const Scheme* shared = nullptr;
  for (const graph::Node* reader : index_.consumers(value)) {
    if (placement_.roles(reader) == nullptr) continue;
    const Scheme* scheme = of(reader->name).activation;
    if (shared != nullptr && !same_grid(*shared, *scheme)) return *usual_.activation;
    shared = scheme;
  }
  return shared == nullptr ? *usual_.activation : *shared;
}

bool NodeSchemes::converts(const std::string& value, const std::string& node) const {
  return !nodes_.empty() && !same_grid(written(value), *of(node).activation);
}

}  // namespace quasar::quant
