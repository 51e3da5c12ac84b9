#include <algorithm>

#include "quasar/ops/constants.hpp"
#include "quasar/runtime/rewrites/apart.hpp"

namespace quasar::runtime {
namespace {

bool has_output(const graph::Node& node, size_t output) {
  return output < node.outputs.size() && !node.outputs[output].empty();
}

// Whether MultiHeadAttention takes the mask as well: how long each sample is [batch], or which places count [batch, length].
// Attention takes ends and starts [2 · batch] and one number a sample [batch, 1], too.
bool is_plain_mask(Apart& to, const std::string& mask, const std::string& input) {
  const auto lengths = std::ranges::find_if(to.before.nodes, [&](const graph::Node& one) {
    return one.op_type == "EmbedLayerNormalization" && has_output(one, 1) && one.outputs[1] == mask;
  });
  if (lengths != to.before.nodes.end()) return true;
  const graph::Value given = to.type_of(mask), values = to.type_of(input);
  if (!given.shape || !values.shape || given.shape->empty() || given.shape->size() > 2 || values.shape->size() != 3) return false;
  const auto symbol = [](const graph::Value& value, size_t axis) {
    return axis < value.symbols.size() ? value.symbols[axis] : std::string();
  };
  for (size_t axis = 0; axis < given.shape->size(); ++axis) {
    const int64_t size = (*given.shape)[axis], wanted = (*values.shape)[axis];
    if (size != wanted || (size < 0 && (symbol(given, axis).empty() || symbol(given, axis) != symbol(values, axis))))
      return false;
  }
  return true;
}

}  // namespace

// The projection by ONNX's operators, the rest as MultiHeadAttention. Not with a past, positions of its own, masks of three
// axes and more, and values that are not as wide as queries and keys.
bool write_attention(Apart& to, const graph::Node& node) {
  const Tensor* weights = node.inputs.size() > 1 ? to.model.initializer(node.inputs[1]) : nullptr;
  if (weights == nullptr || weights->shape().size() != 2 || weights->shape()[1] % 3 != 0) return false;
  if (ops::has_input(node, 4) || ops::has_input(node, 6) || has_output(node, 1)) return false;
  if (node.integer("do_rotary", 0) != 0 || node.find("qkv_hidden_sizes") != nullptr) return false;
  if (ops::has_input(node, 3) && !is_plain_mask(to, node.inputs[3], node.inputs[0])) return false;
  std::string value = to.add(node, "MatMul", {node.inputs[0], node.inputs[1]});
  if (ops::has_input(node, 2)) value = to.add(node, "Add", {value, node.inputs[2]});
  graph::Node split = to.step(node, "Split", {to.integers(node, std::vector<int64_t>(3, weights->shape()[1] / 3))});
  split.inputs.front() = value;
  split.outputs.clear();
  for (const char* part : {"_query", "_key", "_value"}) split.outputs.push_back(to.names.fresh(node.outputs.front() + part));
  split.set({"axis", int64_t{-1}});
  graph::Node heads = node;
  heads.op_type = "MultiHeadAttention";
  heads.inputs = split.outputs;
  heads.inputs.push_back("");
  heads.inputs.push_back(ops::has_input(node, 3) ? node.inputs[3] : "");
  heads.inputs.push_back(ops::has_input(node, 5) ? node.inputs[5] : "");
  while (heads.inputs.back().empty()) heads.inputs.pop_back();
  heads.outputs.resize(1);
  std::erase_if(heads.attributes, [](const graph::Attribute& one) {
    return one.name != "num_heads" && one.name != "scale" && one.name != "mask_filter_value" && one.name != "unidirectional";
  });
  to.out.push_back(std::move(split));
  to.out.push_back(std::move(heads));
  return true;
}

// Gather of each table, their sum, LayerNormalization; where it is read, the number of ones in each row of the mask.
bool write_embedding(Apart& to, const graph::Node& node) {
  if (has_output(node, 2) || (has_output(node, 1) && !ops::has_input(node, 7)) || !ops::has_input(node, 6)) return false;
  std::string sum = to.add(node, "Gather", {node.inputs[2], node.inputs[0]});
  if (ops::has_input(node, 8)) {
    sum = to.add(node, "Add", {sum, to.add(node, "Gather", {node.inputs[3], node.inputs[8]})});
  } else {
    const std::string one = to.integers(node, {1}), shape = to.add(node, "Shape", {node.inputs[0]});
    const std::string length = to.add(node, "Slice", {shape, one, to.integers(node, {2})});
    sum = to.add(node, "Add",
                 {sum, to.add(node, "Slice", {node.inputs[3], to.integers(node, {0}), length, to.integers(node, {0})})});
  }
  if (ops::has_input(node, 1) && ops::has_input(node, 4))
    sum = to.add(node, "Add", {sum, to.add(node, "Gather", {node.inputs[4], node.inputs[1]})});
  if (has_output(node, 1)) {
    const std::string one = to.names.fresh(node.name + "_constant");
    to.model.initializers[one] = Tensor::scalar<int32_t>(1);
    const std::string ones = to.add(node, "Cast", {to.add(node, "Equal", {node.inputs[7], one})});
    to.out.back().set({"to", static_cast<int64_t>(DataType::int32)});
    graph::Node count = to.step(node, "ReduceSum", {to.integers(node, {1})});
    count.inputs.front() = ones;
    count.outputs = {node.outputs[1]};
    count.set({"keepdims", int64_t{0}});
    to.out.push_back(std::move(count));
  }
  graph::Node norm = node;
  norm.op_type = "LayerNormalization";
  norm.domain.clear();
  norm.inputs = {sum, node.inputs[5], node.inputs[6]};
  norm.outputs.resize(1);
  norm.attributes = {{"axis", int64_t{-1}}, {"epsilon", node.real("epsilon", 1e-12F)}};
  to.out.push_back(std::move(norm));
  return true;
}

}  // namespace quasar::runtime
