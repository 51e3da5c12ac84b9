#include "quasar/quant/write/prelu.hpp"

#include <algorithm>

namespace quasar::quant {

std::set<std::string> prelus_to_take_apart(const graph::Index& index, const std::map<std::string, NodePlan>& quantized) {
  std::set<std::string> out;
  for (const auto& node : index.model().nodes) {
    if (!node.is("PRelu") || node.inputs.size() != 2 || quantized.contains(node.name)) continue;
    const Tensor* const slopes = index.model().initializer(node.inputs[1]);
    if (slopes == nullptr || slopes->type() != DataType::float32) continue;
    if (std::ranges::all_of(slopes->as<float>(), [](float slope) { return slope <= 1; })) out.insert(node.name);
  }
  return out;
}

void take_prelus_apart(graph::Model& model, const std::set<std::string>& prelus) {
  if (prelus.empty()) return;
  graph::Names names(model);
  std::vector<graph::Node> nodes;
  for (auto& node : model.nodes) {
    if (node.is("PRelu") && prelus.contains(node.name)) {
      graph::Node product = node;
      product.op_type = "Mul";
      product.name = names.fresh(node.name + "_times_slope");
      product.outputs = {names.fresh(node.outputs[0] + "_times_slope")};
      node.op_type = "Max";
      node.inputs[1] = product.outputs[0];
      nodes.push_back(std::move(product));
    }
    nodes.push_back(std::move(node));
  }
  model.nodes = std::move(nodes);
}

}  // namespace quasar::quant
