#include "quasar/runtime/weights_apart.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace quasar::runtime {
namespace {

constexpr size_t worth_it = size_t{64} << 10;  // bytes

// Outputs stay: ONNX Runtime would make a copy of an input that is one.
WeightsApart taken_apart(const graph::Model& model, const std::function<bool(const std::string& name, const Tensor&)>& goes) {
  WeightsApart out{.model = model, .weights = {}};
  for (const auto& [name, tensor] : model.initializers) {
    const bool given = std::ranges::any_of(model.outputs, [&name = name](const auto& output) { return output.name == name; });
    if (given || tensor.type() != DataType::float32 || tensor.bytes().size() < worth_it || !goes(name, tensor)) continue;
    out.weights.emplace(name, tensor);
    out.model.initializers.erase(name);
    out.model.inputs.push_back({.name = name, .type = tensor.type(), .shape = tensor.shape()});
  }
  return out;
}

// Values that no constant can replace, whatever is folded: they depend on more of the inputs than their shapes.
std::set<std::string> values_of_inputs(const graph::Model& model) {
  std::set<std::string> out;
  for (const auto& input : model.inputs) out.insert(input.name);
  const auto depends = [&](const std::string& value) { return out.contains(value); };
  for (const auto& node : model.nodes) {
    if (node.is("Shape") || node.is("Size")) continue;
    if (std::ranges::any_of(node.inputs, depends) || std::ranges::any_of(node.captures, depends))
      out.insert(node.outputs.begin(), node.outputs.end());
  }
  return out;
}

}  // namespace

void WeightsApart::put_back(graph::Model& other) const {
  std::erase_if(other.inputs, [&](const graph::Value& input) { return weights.contains(input.name); });
  const graph::Index index(other);
  for (const auto& [name, tensor] : weights) {
    if (!index.consumers(name).empty()) other.initializers.emplace(name, tensor);
  }
}

WeightsApart apart_for_types(const graph::Model& model) {
  const graph::Index index(model);
  const auto is_onnx = [](const graph::Node* reader) { return reader->domain.empty(); };  // others may want constants
  return taken_apart(model,
                     [&](const std::string& name, const Tensor&) { return std::ranges::all_of(index.consumers(name), is_onnx); });
}

WeightsApart apart_for_clean_up(const graph::Model& model) {
  const graph::Index index(model);
  const std::set<std::string> live = values_of_inputs(model);
  // It is folded into a MatMul before it.
  const bool normalizes = std::ranges::any_of(model.nodes, [](const auto& node) { return node.is("BatchNormalization"); });
  const auto only_multiplies = [&](const graph::Node* node, const std::string& name) {
    if (node->inputs.size() < 2) return false;
    const bool is_table = node->is("Gather") && node->inputs[0] == name && live.contains(node->inputs[1]);
    const bool is_product = node->is("MatMul") && !normalizes &&
                            ((node->inputs[1] == name && live.contains(node->inputs[0])) ||
                             (node->inputs[0] == name && live.contains(node->inputs[1])));
    return is_table || is_product;
  };
  return taken_apart(model, [&](const std::string& name, const Tensor&) {
    const auto& readers = index.consumers(name);
    return !readers.empty() &&
           std::ranges::all_of(readers, [&](const graph::Node* reader) { return only_multiplies(reader, name); });
  });
}

}  // namespace quasar::runtime
