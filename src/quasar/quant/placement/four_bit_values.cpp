#include "quasar/quant/placement/four_bit_values.hpp"

#include <algorithm>

namespace quasar::quant {

std::map<std::string, std::string> unfit_for_4_bits(const graph::Model& model,
                                                    const std::map<std::string, ops::Roles>& quantizable) {
  std::map<std::string, std::string> out;
  for (const auto& node : model.nodes) {
    if (node.is("Clip"))
      out.emplace(node.outputs.front(), "Clip writes one of its values, and ONNX Runtime cannot open a model with 4 bits there");
    if (node.is("Relu"))
      out.emplace(node.outputs.front(), "Relu writes one of its values, and ONNX Runtime drops a Relu before 4 bits");
    if (node.is("MaxPool")) {
      for (const auto& value : {node.inputs.front(), node.outputs.front()})
        out.emplace(value, "MaxPool reads or writes one of its values, and ONNX Runtime has no MaxPool of 4 bits");
    }
  }
  for (bool changed = !out.empty(); changed;) {
    changed = false;
    for (const auto& node : model.nodes) {
      const auto roles = quantizable.find(node.name);
      if (roles == quantizable.end() || roles->second.kind != ops::Kind::movement) continue;
      std::vector<std::string> values = node.outputs;
      values.push_back(node.inputs[roles->second.activations.front()]);
      std::erase(values, "");
      const auto first = std::ranges::find_if(values, [&](const auto& value) { return out.contains(value); });
      if (first == values.end()) continue;
      const std::string why = out.at(*first);
      for (const auto& value : values) changed = out.emplace(value, why).second || changed;
    }
  }
  return out;
}

std::string obstacle_to_4_bits(const graph::Node& node, const ops::Roles& roles, DataType weights,
                               const std::map<std::string, std::string>& unfit) {
  if (node.is("Conv") && bits_of(weights) == 8)
    return "ONNX Runtime cannot open Conv of 4-bit values and 8-bit weights; of 4-bit weights it can";
  std::vector<std::string> values = node.outputs;
  for (const size_t input : roles.activations) values.push_back(node.inputs[input]);
  const auto found = std::ranges::find_if(values, [&](const auto& value) { return unfit.contains(value); });
  return found == values.end() ? "" : unfit.at(*found);
}

}  // namespace quasar::quant
