#include "quasar/graph/lookup.hpp"

#include <algorithm>
#include <array>

namespace quasar::graph {
namespace {

size_t times_read(const std::string& value, const Node& node) {
  return static_cast<size_t>(std::ranges::count(node.inputs, value) + std::ranges::count(node.captures, value));
}

}  // namespace

size_t readers(const std::string& value, const Index& index) {
  size_t count = index.is_output(value) ? 1 : 0;
  for (const Node* node : index.consumers(value)) count += times_read(value, *node);
  return count;
}

const Node* sole_reader(const std::string& value, const Index& index) {
  const auto& nodes = index.consumers(value);
  if (nodes.size() != 1 || index.is_output(value) || times_read(value, *nodes.front()) != 1) return nullptr;
  return std::ranges::count(nodes.front()->inputs, value) == 1 ? nodes.front() : nullptr;
}

const Node* sole_reader(const std::string& value, std::string_view type, const Index& index) {
  const Node* reader = sole_reader(value, index);
  return reader != nullptr && reader->is(type) ? reader : nullptr;
}

bool has_own_codes(std::string_view op_type) {
  // DynamicQuantizeLinear has no scales to read.
  constexpr std::array<std::string_view, 5> prefixes = {"QLinear", "DynamicQuantize", "MatMulInteger", "ConvInteger", "QOrdered"};
  constexpr std::array<std::string_view, 8> operators = {
      "MatMulNBits",          "MatMulBnb4", "MatMulFpQ4", "QAttention",
      "GatherBlockQuantized", "QGemm",      "QMoE",       "QEmbedLayerNormalization"};
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return op_type.starts_with(prefix); }) ||
         std::ranges::find(operators, op_type) != operators.end();
}

std::optional<float> single_value(const std::string& value, const Model& model) {
  const Tensor* tensor = model.initializer(value);
  if (tensor == nullptr || tensor->type() != DataType::float32 || tensor->count() != 1) return std::nullopt;
  return tensor->as<float>()[0];
}

}  // namespace quasar::graph
