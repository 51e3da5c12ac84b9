#include "quasar/rounding/rounding_layers.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace quasar::tune {
namespace {

bool is_any_of(const graph::Node& node, std::span<const char* const> types) {
  return std::ranges::any_of(types, [&](const char* type) { return node.is(type); });
}

bool has_any(const std::set<std::string>& values, std::span<const std::string> names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return !name.empty() && values.contains(name); });
}

// Whether what the node gives depends in order or number on the values of these.
bool chooses_by(const graph::Node& node, const std::set<std::string>& values) {
  constexpr std::array selections{"TopK", "Compress", "NonZero", "Unique", "NonMaxSuppression", "Range", "ConstantOfShape"};
  constexpr std::array shaped_by_others{"Expand", "Reshape", "Slice", "Tile", "Pad"};
  const std::span<const std::string> inputs(node.inputs);
  if (is_any_of(node, selections)) return has_any(values, inputs);
  return is_any_of(node, shaped_by_others) && inputs.size() > 1 && has_any(values, inputs.subspan(1));
}

}  // namespace

std::vector<LinearLayer> layers_of(const graph::Model& model) {
  std::vector<LinearLayer> out;
  std::string why;
  for (const auto& node : model.nodes) {
    if (auto layer = linear_layer(node, model, why)) out.push_back(std::move(*layer));
  }
  return out;
}

Chosen chosen_of(const std::vector<LinearLayer>& layers, const quant::Plan& plan,
                 const std::function<bool(const LinearLayer&, const quant::NodePlan&)>& wanted) {
  Chosen out;
  for (size_t i = 0; i < layers.size(); i++) {
    const auto found = plan.nodes.find(layers[i].node);
    if (found == plan.nodes.end() || !found->second.weight || !wanted(layers[i], found->second)) continue;
    out.layers.push_back(i);
    out.stops.push_back(layers[i].node);
  }
  return out;
}

std::vector<std::string> left_nearest(const graph::Model& model, const quant::Plan& plan) {
  std::vector<std::string> out;
  std::string why;
  for (const auto& node : model.nodes) {
    const auto found = plan.nodes.find(node.name);
    if (found == plan.nodes.end() || linear_layer(node, model, why)) continue;
    if (node.is("MatMul") && !found->second.constants.empty())
      out.push_back(node.name + ": its constant stands on the left, and only matrices on the right are optimized");
    if (!found->second.weight) continue;
    out.push_back(node.name + ": " + (why.empty() ? "no layer whose codes could be chosen" : why));
  }
  return out;
}

std::set<std::string> out_of_order(const graph::Model& model, const quant::Plan& plan) {
  constexpr std::array shapes{"Shape", "Size"};
  constexpr std::array into_order{"ScatterND", "ScatterElements", "Scatter"};
  std::set<std::string> changed, moved, out;
  for (const auto& node : model.nodes) {
    const std::span<const std::string> inputs(node.inputs);
    const bool chooses = chooses_by(node, changed);
    const bool reads_moved = has_any(moved, is_any_of(node, into_order) ? inputs.first(1) : inputs);
    if (reads_moved) out.insert(node.name);
    if (chooses || reads_moved) moved.insert(node.outputs.begin(), node.outputs.end());
    if (plan.nodes.contains(node.name) || (has_any(changed, inputs) && !is_any_of(node, shapes)))
      changed.insert(node.outputs.begin(), node.outputs.end());
  }
  return out;
}

std::optional<quant::VectorBehind> vector_of(const LinearLayer& layer, const graph::Index& index, const quant::Plan& plan) {
  if (layer.bias_input) return std::nullopt;
  return quant::vector_behind(*index.node(layer.node), layer.outputs, index, plan);
}

}  // namespace quasar::tune
