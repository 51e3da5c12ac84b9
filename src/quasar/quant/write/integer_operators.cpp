#include "quasar/quant/write/integer_operators.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "quasar/quant/onnxruntime_kernels.hpp"

namespace quasar::quant {
namespace {

using Nodes = std::optional<std::vector<graph::Node>>;

constexpr const char* microsoft = "com.microsoft";

bool single(const std::optional<Codes>& codes) {
  return codes && codes->scales == 1 && bits_of(codes->type) == 8;
}

// Unsigned values take weights of both types, signed ones signed weights; the result is of the values' type.
bool multiply(const Codes& values, const Codes& weights, const std::optional<Codes>& result) {
  return (values.type == DataType::uint8 || weights.type == DataType::int8) && bits_of(weights.type) == 8 &&
         (!result || (single(result) && result->type == values.type));
}

void append(std::vector<std::string>& inputs, const Codes& codes) {
  inputs.insert(inputs.end(), {codes.codes, codes.scale, codes.zero_point});
}

void append_grid(std::vector<std::string>& inputs, const Codes& codes) {
  inputs.insert(inputs.end(), {codes.scale, codes.zero_point});
}

// The group's node as another operator, with the same attributes.
graph::Node renamed(const Group& group, const char* type, const char* domain, std::vector<std::string> inputs) {
  return {.name = group.node.name,
          .op_type = type,
          .domain = domain,
          .inputs = std::move(inputs),
          .outputs = {group.output ? group.output->codes : group.result},
          .captures = {},
          .attributes = group.node.attributes,
          .rest = group.node.rest,
          .inside = group.node.inside};
}

double product_scale(const Codes& values, const Codes& weights, size_t k, const graph::Model& model) {
  const auto scales = model.initializer(weights.scale)->as<float>();
  return double{model.initializer(values.scale)->as<float>()[0]} * double{scales[scales.size() == 1 ? 0 : k]};
}

// Whether the bias adds to the integer sums as it is: int32 with the scale s_input · s_weight.
bool adds_to_sums(const Group& group, const graph::Model& model) {
  if (group.node.inputs.size() < 3 || group.node.inputs[2].empty()) return true;
  const auto& bias = group.inputs[2];
  const Tensor* codes = bias ? model.initializer(bias->codes) : nullptr;
  if (codes == nullptr || codes->type() != DataType::int32) return false;
  const auto scales = model.initializer(bias->scale)->as<float>();
  for (size_t k = 0; k < scales.size(); k++) {
    const double wanted = product_scale(*group.inputs[0], *group.inputs[1], k, model);
    if (std::abs(double{scales[k]} - wanted) > 1e-4 * wanted) return false;
  }
  return true;
}

std::vector<std::string> weighted_inputs(const Group& group) {
  std::vector<std::string> inputs;
  append(inputs, *group.inputs[0]);
  append(inputs, *group.inputs[1]);
  return inputs;
}

std::string bias_of(const Group& group) {
  return group.inputs.size() > 2 && group.inputs[2] ? group.inputs[2]->codes : "";
}

bool is_zero(const Tensor& tensor) {
  return std::ranges::all_of(tensor.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

graph::Node step(const OperatorContext& context, const std::string& type, const Group& group, std::vector<std::string> inputs,
                 const std::string& output) {
  return {.name = context.fresh(group.node.name + "_" + type),
          .op_type = type,
          .domain = "",
          .inputs = std::move(inputs),
          .outputs = {output}};
}

// A float result: integer sums, then their scales and the bias.
Nodes conv_integer(const Group& group, const OperatorContext& context) {
  const Codes &values = *group.inputs[0], &weights = *group.inputs[1];
  const Tensor& zero_points = *context.model.initializer(weights.zero_point);
  if (values.type != DataType::uint8 || (weights.scales > 1 && !is_zero(zero_points))) return std::nullopt;
  const Tensor& kernel = *context.model.initializer(weights.codes);
  Shape shape(kernel.shape().size() - 1, 1);
  shape[0] = kernel.shape()[0];
  const auto channels = static_cast<size_t>(shape[0]);
  std::vector<float> scales, offsets;
  for (size_t k = 0; k < channels; k++) scales.push_back(static_cast<float>(product_scale(values, weights, k, context.model)));
  const std::string name = group.node.name, sums = context.fresh(name + "_sums"), floats = context.fresh(name + "_float_sums");
  std::vector<std::string> inputs{values.codes, weights.codes, values.zero_point};
  if (!is_zero(zero_points)) inputs.push_back(weights.zero_point);
  graph::Node conv = renamed(group, "ConvInteger", "", inputs);
  conv.outputs = {sums};
  graph::Node cast = step(context, "Cast", group, {sums}, floats);
  cast.set({"to", static_cast<int64_t>(DataType::float32)});
  const std::string bias = bias_of(group), scaled = bias.empty() ? group.result : context.fresh(name + "_scaled");
  std::vector<graph::Node> nodes{
      std::move(conv), std::move(cast),
      step(context, "Mul", group, {floats, context.add(name + "_scales", Tensor::of(shape, scales))}, scaled)};
  if (bias.empty()) return nodes;
  const auto codes = context.model.initializer(bias)->as<int32_t>();
  for (size_t k = 0; k < channels; k++) offsets.push_back(static_cast<float>(codes[k]) * scales[k]);
  nodes.push_back(
      step(context, "Add", group, {scaled, context.add(name + "_offsets", Tensor::of(shape, offsets))}, group.result));
  return nodes;
}

Nodes conv(const Group& group, const OperatorContext& context) {
  const auto &values = group.inputs[0], &weights = group.inputs[1];
  if (!single(values) || !weights || !multiply(*values, *weights, group.output) || (weights->scales > 1 && weights->axis != 0) ||
      !adds_to_sums(group, context.model))
    return std::nullopt;
  if (!group.output) return conv_integer(group, context);
  std::vector<std::string> inputs = weighted_inputs(group);
  append_grid(inputs, *group.output);
  if (const std::string bias = bias_of(group); !bias.empty()) inputs.push_back(bias);
  return {{renamed(group, "QLinearConv", "", inputs)}};
}

Nodes matmul(const Group& group, const OperatorContext&) {
  const auto &a = group.inputs[0], &b = group.inputs[1];
  if (!single(a) || !b || !multiply(*a, *b, group.output)) return std::nullopt;
  if (group.output) {
    std::vector<std::string> inputs = weighted_inputs(group);
    append_grid(inputs, *group.output);
    return {{renamed(group, "QLinearMatMul", "", inputs)}};
  }
  std::vector<std::string> inputs{a->codes, b->codes, a->scale, b->scale, a->zero_point, b->zero_point};
  if (!group.added.empty()) inputs.push_back(group.added);
  return {{renamed(group, "MatMulIntegerToFloat", microsoft, inputs)}};
}

Nodes gemm(const Group& group, const OperatorContext& context) {
  const auto &values = group.inputs[0], &weights = group.inputs[1];
  if (!single(values) || !weights || !multiply(*values, *weights, group.output) || !adds_to_sums(group, context.model))
    return std::nullopt;
  std::vector<std::string> inputs = weighted_inputs(group);
  inputs.push_back(bias_of(group));
  if (group.output) append_grid(inputs, *group.output);
  while (inputs.back().empty()) inputs.pop_back();
  graph::Node node = renamed(group, "QGemm", microsoft, inputs);
  std::erase_if(node.attributes, [](const graph::Attribute& attribute) { return attribute.name == "beta"; });  // it is 1
  return {{std::move(node)}};
}

// All codes have one scale, and one type.
bool alike(const Group& group, size_t first = 0) {
  if (!single(group.output)) return false;
  for (size_t i = first; i < group.inputs.size(); i++) {
    if (!single(group.inputs[i]) || group.inputs[i]->type != group.output->type) return false;
  }
  return true;
}

Nodes two_tensors(const Group& group, const OperatorContext&) {
  if (!alike(group) || group.inputs.size() != 2) return std::nullopt;
  std::vector<std::string> inputs = weighted_inputs(group);
  append_grid(inputs, *group.output);
  return {{renamed(group, group.node.is("Add") ? "QLinearAdd" : "QLinearMul", microsoft, inputs)}};
}

Nodes one_tensor(const Group& group, const OperatorContext& context) {
  if (!alike(group) || group.inputs.size() != 1 || is_dilated(group.node)) return std::nullopt;
  std::vector<std::string> inputs;
  append(inputs, *group.inputs[0]);
  append_grid(inputs, *group.output);
  graph::Node node = renamed(group, ("QLinear" + group.node.op_type).c_str(), microsoft, inputs);
  std::erase_if(node.attributes, [](const graph::Attribute& attribute) { return attribute.name == "dilations"; });
  if (group.node.is("Softmax")) node.set({"opset", context.model.opset()});
  return {{std::move(node)}};
}

Nodes concat(const Group& group, const OperatorContext& context) {
  if (!alike(group)) return std::nullopt;
  const auto same = [&](const std::string& a, const std::string& b) {
    return *context.model.initializer(a) == *context.model.initializer(b);
  };
  std::vector<std::string> moved, inputs;
  append_grid(inputs, *group.output);
  for (const auto& input : group.inputs) {
    append(inputs, *input);
    if (same(input->scale, group.output->scale) && same(input->zero_point, group.output->zero_point))
      moved.push_back(input->codes);
  }
  if (moved.size() == group.inputs.size()) return {{renamed(group, "Concat", "", moved)}};
  return {{renamed(group, "QLinearConcat", microsoft, inputs)}};
}

Nodes where(const Group& group, const OperatorContext&) {
  if (!alike(group, 1)) return std::nullopt;
  std::vector<std::string> inputs{group.node.inputs[0]};
  append(inputs, *group.inputs[1]);
  append(inputs, *group.inputs[2]);
  append_grid(inputs, *group.output);
  return {{renamed(group, "QLinearWhere", microsoft, inputs)}};
}

}  // namespace

std::optional<std::vector<graph::Node>> on_codes(const Group& group, const OperatorContext& context) {
  using Make = Nodes (*)(const Group&, const OperatorContext&);
  static const std::map<std::string_view, Make> operators{{"Conv", conv},
                                                          {"MatMul", matmul},
                                                          {"Gemm", gemm},
                                                          {"Add", two_tensors},
                                                          {"Mul", two_tensors},
                                                          {"Sigmoid", one_tensor},
                                                          {"LeakyRelu", one_tensor},
                                                          {"Softmax", one_tensor},
                                                          {"AveragePool", one_tensor},
                                                          {"GlobalAveragePool", one_tensor},
                                                          {"Concat", concat},
                                                          {"Where", where}};
  const auto found = operators.find(group.node.op_type);
  return found == operators.end() || !group.node.domain.empty() ? std::nullopt : found->second(group, context);
}

}  // namespace quasar::quant
