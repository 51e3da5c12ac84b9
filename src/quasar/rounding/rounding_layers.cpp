#include "quasar/rounding/rounding_layers.hpp"

namespace quasar::tune {

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

std::optional<quant::VectorBehind> vector_of(const LinearLayer& layer, const graph::Index& index, const quant::Plan& plan) {
  if (layer.bias_input) return std::nullopt;
  return quant::vector_behind(*index.node(layer.node), layer.outputs, index, plan);
}

}  // namespace quasar::tune
