// What rounding may choose of a plan whose processor shifts.
#include <algorithm>
#include <map>

#include "quasar/quant/npu/npu.hpp"

namespace quasar::quant {

void limit_weight_scales(Plan& plan, const Network& network) {
  for (const auto& layer : network.layers) {
    const auto node = plan.nodes.find(layer.node);
    if (node == plan.nodes.end() || !network.shifted(layer.weight) || !network.shifted(layer.inputs.at(0))) continue;
    const int sums = network.position(layer.weight) + network.position(layer.inputs[0]);
    int slack = 31;
    if (network.shifted(layer.output)) slack = std::min(slack, 16 - (sums - network.position(layer.output)));
    const bool narrow = network.shifted(layer.bias) && network.tensors[*layer.bias].params.type != DataType::int32;
    if (narrow) slack = std::min(slack, 15 - (sums - network.position(layer.bias)));
    node->second.least_weight_scale = scale_at(network.position(layer.weight) + std::max(slack, 0));
  }
}

namespace {

// Refined values through which codes pass unchanged, which can only change together.
std::vector<std::vector<std::string>> refined_together(const Plan& plan, const graph::Model& model) {
  std::vector<std::vector<std::string>> groups;
  std::map<std::string, size_t> place;
  const auto add = [&](const std::string& value, size_t group) {
    if (group == groups.size()) groups.emplace_back();
    place[value] = group;
    groups[group].push_back(value);
  };
  for (const auto& input : model.inputs) {
    if (plan.refined.contains(input.name)) add(input.name, groups.size());
  }
  for (const auto& node : model.nodes) {
    for (const auto& output : node.outputs) {
      const auto refined = plan.refined.find(output);
      if (refined == plan.refined.end()) continue;
      const auto source = node.inputs.empty() ? place.end() : place.find(node.inputs[0]);
      const bool moves = source != place.end() && plan.refined.at(node.inputs[0]) == refined->second &&
                         plan.values.at(node.inputs[0]) == plan.values.at(output);
      add(output, moves ? source->second : groups.size());
    }
  }
  return groups;
}

}  // namespace

void keep_refined_within_rules(Plan& plan, const graph::Model& model) {
  const auto broken = [&] { return violations(apply(model, plan)).size(); };
  const std::map<std::string, QuantParams> wanted = plan.refined;
  const auto groups = refined_together(plan, model);
  plan.refined.clear();
  const size_t before = broken();
  for (const auto& group : groups) {
    for (const auto& value : group) plan.refined.insert(*wanted.find(value));
    if (broken() <= before) continue;
    for (const auto& value : group) plan.refined.erase(value);
  }
}

}  // namespace quasar::quant
