#include "quasar/ops/parts_of_functions.hpp"

#include <algorithm>
#include <limits>

#include "quasar/graph/lookup.hpp"

namespace quasar::ops {
namespace {

// `most`: values that it may have.
bool has_constant(const graph::Node& node, const graph::Model& model, size_t most = std::numeric_limits<size_t>::max()) {
  return std::ranges::any_of(node.inputs, [&](const std::string& input) {
    const Tensor* tensor = model.initializer(input);
    return tensor != nullptr && tensor->count() <= most;
  });
}

void add_gelu(const graph::Node& erf, const graph::Index& index, std::set<std::string>& out) {
  const graph::Node* const sum = graph::sole_reader(erf.outputs[0], "Add", index);
  const graph::Node* const product = sum == nullptr ? nullptr : graph::sole_reader(sum->outputs[0], "Mul", index);
  if (product == nullptr || !has_constant(*sum, index.model())) return;
  out.insert({sum->name, product->name});
  // The half is a factor of the product, or of x before.
  const graph::Node* const half = graph::sole_reader(product->outputs[0], "Mul", index);
  if (half != nullptr && has_constant(*half, index.model(), 1)) out.insert(half->name);
  for (const auto& input : product->inputs) {
    const graph::Node* const before = index.producer(input);
    if (before != nullptr && before->is("Mul") && has_constant(*before, index.model(), 1)) out.insert(before->name);
  }
}

void add_normalization(const graph::Node& root, const graph::Index& index, std::set<std::string>& out) {
  const graph::Node* const epsilon = index.producer(root.inputs[0]);
  const graph::Node* const quotient = graph::sole_reader(root.outputs[0], "Div", index);
  if (epsilon == nullptr || !epsilon->is("Add") || quotient == nullptr || quotient->inputs[1] != root.outputs[0]) return;
  const graph::Node* const centred = index.producer(quotient->inputs[0]);
  const graph::Node* const scaled = graph::sole_reader(quotient->outputs[0], "Mul", index);
  const graph::Node* const shifted = scaled == nullptr ? nullptr : graph::sole_reader(scaled->outputs[0], "Add", index);
  if (centred == nullptr || !centred->is("Sub") || shifted == nullptr || !has_constant(*scaled, index.model()) ||
      !has_constant(*shifted, index.model()))
    return;
  out.insert({epsilon->name, scaled->name, shifted->name});
}

}  // namespace

std::set<std::string> parts_of_functions(const graph::Index& index) {
  std::set<std::string> out;
  for (const auto& node : index.model().nodes) {
    if (node.is("Erf")) add_gelu(node, index, out);
    if (node.is("Sqrt")) add_normalization(node, index, out);
  }
  return out;
}

bool normalizes_layers(const graph::Index& index) {
  std::set<std::string> parts;
  for (const auto& node : index.model().nodes) {
    if (node.op_type.ends_with("LayerNormalization") || node.op_type.ends_with("RMSNormalization")) return true;
    if (node.is("Sqrt")) add_normalization(node, index, parts);
  }
  return !parts.empty();
}

}  // namespace quasar::ops
