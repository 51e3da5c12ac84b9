#include "quasar/runtime/rewrites/zero_states.hpp"

#include <algorithm>

#include "quasar/ops/movers.hpp"

namespace quasar::runtime {
namespace {

constexpr size_t initial_h = 5, initial_c = 6;

bool is_zero(const Tensor& constant) {
  if (constant.type() != DataType::float32) return false;
  return std::ranges::all_of(constant.as<float>(), [](float value) { return value == 0; });
}

bool is_zero(const graph::Index& index, const std::string& value) {
  if (const Tensor* constant = index.model().initializer(value); constant != nullptr) return is_zero(*constant);
  const graph::Node* node = index.producer(value);
  if (node == nullptr || !node->domain.empty()) return false;
  if (node->is("ConstantOfShape")) {
    const graph::Attribute* filling = node->find("value");
    const Tensor* tensor = filling == nullptr ? nullptr : std::get_if<Tensor>(&filling->value);
    return filling == nullptr || (tensor != nullptr && is_zero(*tensor));
  }
  if (ops::only_moves(*node)) return is_zero(index, node->inputs.front());
  return node->is("Concat") && std::ranges::all_of(node->inputs, [&](const std::string& input) { return is_zero(index, input); });
}

}  // namespace

void drop_zero_states(graph::Model& model) {
  bool dropped = false;
  const graph::Model before = model;
  const graph::Index index(before);
  for (graph::Node& node : model.nodes) {
    if (!node.is("LSTM") && !node.is("GRU") && !node.is("RNN")) continue;
    for (const size_t state : {initial_h, initial_c}) {
      if (state >= node.inputs.size() || node.inputs[state].empty() || !is_zero(index, node.inputs[state])) continue;
      node.inputs[state].clear();
      dropped = true;
    }
    while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
  }
  if (dropped) graph::remove_unused(model);
}

}  // namespace quasar::runtime
