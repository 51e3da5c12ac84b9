#include "quasar/graph/rewrites/plain_scales.hpp"

#include <algorithm>

namespace quasar::graph {
namespace {

// The first of several equal elements, as a tensor without axes; nullopt: they differ, or there is one alone.
std::optional<Tensor> first_of_equals(const Tensor* tensor) {
  if (tensor == nullptr || tensor->count() < 2) return std::nullopt;
  const auto bytes = tensor->bytes();
  const size_t size = bytes.size() / tensor->count();
  if (size == 0) return std::nullopt;  // several in a byte
  for (size_t at = size; at < bytes.size(); at += size) {
    if (!std::ranges::equal(bytes.subspan(0, size), bytes.subspan(at, size))) return std::nullopt;
  }
  return Tensor::copy(tensor->type(), {}, bytes.data(), size);
}

}  // namespace

void write_plain_scales(Model& model) {
  Names names(model);
  bool changed = false;
  for (Node& node : model.nodes) {
    if (node.op_type != "DequantizeLinear" || node.inputs.size() != 3 || model.initializer(node.inputs[0]) != nullptr) continue;
    const auto scale = first_of_equals(model.initializer(node.inputs[1]));
    const auto zero_point = first_of_equals(model.initializer(node.inputs[2]));
    if (!scale || !zero_point) continue;
    for (const auto& [input, tensor] : {std::pair{1, *scale}, std::pair{2, *zero_point}}) {
      const std::string name = names.fresh(node.inputs[static_cast<size_t>(input)] + "_plain");
      model.initializers[name] = tensor;
      node.inputs[static_cast<size_t>(input)] = name;
    }
    std::erase_if(node.attributes, [](const Attribute& attribute) { return attribute.name == "axis"; });
    changed = true;
  }
  if (changed) remove_unused(model);
}

}  // namespace quasar::graph
