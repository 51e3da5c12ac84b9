#include "quasar/quant/dynamic_nodes.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/quant/codes/weights.hpp"

namespace quasar::quant {
namespace {

const Tensor& constant(const graph::Node& node, size_t input, const RewriteContext& context) {
  const Tensor* values = context.model.initializer(node.inputs.at(input));
  if (values != nullptr) return *values;
  throw Error("the plan does not fit the model: input " + std::to_string(input) + " of " + node.name + " is not constant");
}

const QuantParams& params_of(const ConstantPlan& plan) {
  return plan.optimized ? plan.optimized->params : plan.params;
}

Tensor codes_of(const ConstantPlan& plan, const Tensor& values) {
  return plan.optimized ? plan.optimized->codes : quantize_within(values, plan.params, plan.limits);
}

// […, a, b] -> […, b, a]
Tensor transposed(const Tensor& codes) {
  Shape shape = codes.shape();
  const size_t columns = static_cast<size_t>(shape.back()), rows = static_cast<size_t>(shape[shape.size() - 2]);
  std::swap(shape.back(), shape[shape.size() - 2]);
  const std::vector<int32_t> plain = plain_codes(codes);
  std::vector<int32_t> out(plain.size());
  for (size_t from = 0; from < plain.size(); from += rows * columns) {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c) out[from + c * rows + r] = plain[from + r * columns + c];
    }
  }
  return codes_tensor(codes.type(), shape, out);
}

// Scale and zero point as initializers: [] or [slices].
std::vector<std::string> add_params(const std::string& name, const QuantParams& params, const RewriteContext& context) {
  const Shape shape = params.axis < 0 ? Shape{} : Shape{static_cast<int64_t>(params.scales.size())};
  return {context.add(name + "_scale", Tensor::of(shape, params.scales)),
          context.add(name + "_zero_point", codes_tensor(params.type, shape, params.zero_points))};
}

// [channels] -> [channels, 1, 1 …]
Tensor per_plane(const Tensor& values, size_t axes) {
  Shape shape{static_cast<int64_t>(values.count())};
  shape.resize(axes + 1, 1);
  return values.reshaped(shape);
}

// Of a convolution over this many axes, whose weights have one zero point.
std::vector<std::string> add_conv_params(const std::string& name, const QuantParams& params, size_t axes,
                                         const RewriteContext& context) {
  const Tensor scales = Tensor::of(Shape{static_cast<int64_t>(params.scales.size())}, params.scales);
  return {context.add(name + "_scale", per_plane(scales, axes)),
          context.add(name + "_zero_point", codes_tensor(params.type, {}, std::vector<int32_t>{params.zero_points.front()}))};
}

graph::Node made(const std::string& type, const std::string& name, std::vector<std::string> inputs,
                 std::vector<std::string> outputs) {
  return {.name = name, .op_type = type, .domain = "", .inputs = std::move(inputs), .outputs = std::move(outputs)};
}

// The LSTM's weights [directions, 4 · hidden, inputs] as a matrix.
Tensor as_matrix(const Tensor& weights) {
  const Shape& shape = weights.shape();
  return weights.reshaped({shape.at(0) * shape.at(1), shape.at(2)});
}

// Per direction, or per direction and row.
std::vector<std::string> add_lstm_params(const std::string& name, const QuantParams& params, int64_t directions,
                                         const RewriteContext& context) {
  const auto count = static_cast<int64_t>(params.scales.size());
  std::vector<float> scales = params.scales;
  std::vector<int32_t> zero_points = params.zero_points;
  if (count == 1) {
    scales.resize(static_cast<size_t>(directions), scales[0]);
    zero_points.resize(scales.size(), zero_points[0]);
  }
  const Shape shape = count == 1 ? Shape{directions} : Shape{directions, count / directions};
  return {context.add(name + "_scale", Tensor::of(shape, scales)),
          context.add(name + "_zero_point", codes_tensor(params.type, shape, zero_points))};
}

}  // namespace

Tensor as_planned(const graph::Node& node, const Tensor& weights) {
  return node.is("LSTM") ? as_matrix(weights) : weights;
}

std::vector<graph::Node> product_on_codes(const graph::Node& node, const NodePlan& plan, const RewriteContext& context) {
  std::vector<graph::Node> out;
  const bool conv = node.is("Conv");
  const std::string& input = node.inputs.at(0);
  auto& quantized = context.quantized[input];
  if (quantized.empty()) {
    quantized = {context.fresh(input + "_quantized"), context.fresh(input + "_scale"), context.fresh(input + "_zero_point")};
    out.push_back(made("DynamicQuantizeLinear", context.fresh(input + "_DynamicQuantizeLinear"), {input}, quantized));
  }
  const std::string& weights = node.inputs.at(1);
  Tensor codes = codes_of(*plan.weight, constant(node, 1, context));
  if (node.is("Gemm") && node.integer("transB", 0) != 0) codes = transposed(codes);
  const std::string stored = context.add(weights + "_quantized", codes);
  const auto params = conv ? add_conv_params(weights, params_of(*plan.weight), codes.shape().size() - 2, context)
                           : add_params(weights, params_of(*plan.weight), context);
  const std::string sum = context.fresh(node.name + "_sum"), wide = context.fresh(node.name + "_wide");
  const std::string scale = context.fresh(node.name + "_scale");
  const bool has_bias = ops::has_input(node, 2);
  const std::string product = has_bias ? context.fresh(node.name + "_product") : node.outputs.at(0);
  out.push_back(made(conv ? "ConvInteger" : "MatMulInteger", node.name, {quantized[0], stored, quantized[2], params[1]}, {sum}));
  if (conv) out.back().attributes = node.attributes;
  out.push_back(made("Cast", context.fresh(node.name + "_Cast"), {sum}, {wide}));
  out.back().set({"to", static_cast<int64_t>(DataType::float32)});
  out.push_back(made("Mul", context.fresh(node.name + "_scales"), {quantized[1], params[0]}, {scale}));
  out.push_back(made("Mul", context.fresh(node.name + "_Mul"), {wide, scale}, {product}));
  if (!has_bias) return out;
  std::string bias = node.inputs[2];
  if (conv) bias = context.add(bias + "_planes", per_plane(constant(node, 2, context), codes.shape().size() - 2));
  out.push_back(made("Add", context.fresh(node.name + "_Add"), {product, bias}, {node.outputs.at(0)}));
  return out;
}

bool is_worth_conv_integer(const graph::Node& node, const graph::Model& model) {
  constexpr int64_t least_inputs = 16;
  const Tensor* weights = node.is("Conv") ? ops::constant_input(node, 1, model) : nullptr;
  const bool plain = !ops::has_input(node, 2) || ops::constant_input(node, 2, model) != nullptr;
  return weights != nullptr && plain && weights->shape().size() == 4 && node.integer("group", 1) == 1 &&
         weights->shape()[1] >= least_inputs;
}

std::optional<NodePlan> plan_conv(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why) {
  const Tensor* weights = ops::constant_input(node, 1, model);
  if (!ops::is_quantizable_constant(weights, "weights", why)) return std::nullopt;
  if (bits_of(config.weight.type) != 8 || config.weight.granularity == Granularity::group) {
    why = "ConvInteger takes weights of 8 bits, per tensor or channel";
    return std::nullopt;
  }
  NodePlan plan{.form = NodeForm::dynamic};
  plan.weight = ConstantPlan{1, weight_params(*weights, 0, config.weight)};
  // ONNX Runtime (1.30) multiplies weights by values, and for int8 in the first place it has a plain loop only.
  limit_sums(*plan.weight, node, *weights, Saturation::unsigned_weights, 255, config.weight.scale_type);
  const auto& zero_points = plan.weight->params.zero_points;
  if (std::ranges::all_of(zero_points, [&](int32_t zero) { return zero == zero_points.front(); })) return plan;
  why = "ConvInteger takes weights of one zero point";
  return std::nullopt;
}

std::optional<NodePlan> plan_lstm(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why) {
  const Scheme& scheme = config.weight;
  for (const size_t input : {1, 2}) {
    if (!ops::is_quantizable_constant(ops::constant_input(node, input, model), "weights", why)) return std::nullopt;
  }
  if (node.integer("layout", 0) != 0) {
    why = "DynamicQuantizeLSTM has no layout with the batch first";
  } else if (scheme.type != DataType::int8 || !scheme.symmetric || scheme.granularity == Granularity::group) {
    why = "DynamicQuantizeLSTM takes symmetric int8 weights per tensor or channel";
  } else {
    NodePlan plan{.form = NodeForm::dynamic};
    const auto planned = [&](size_t input, std::optional<Saturation> saturation) {
      const Tensor weights = as_matrix(*ops::constant_input(node, input, model));
      ConstantPlan one{input, weight_params(weights, 0, scheme)};
      limit_sums(one, node, weights, saturation, 255, scheme.scale_type);
      return one;
    };
    plan.weight = planned(1, config.saturation);
    plan.constants = {planned(2, config.saturation)};
    // Both are of one type. Where there is one input or unit, nothing is added up, and nothing asks for uint8.
    if (plan.weight->params.type != plan.constants[0].params.type) {
      plan.weight = planned(1, Saturation::unsigned_weights);
      plan.constants = {planned(2, Saturation::unsigned_weights)};
      for (ConstantPlan* one : {&*plan.weight, &plan.constants[0]}) {
        if (one->params.type != DataType::int8) continue;
        one->params = stored_as(DataType::uint8, std::move(one->params));
        one->limits = {};
      }
    }
    return plan;
  }
  return std::nullopt;
}

graph::Node dynamic_lstm(const graph::Node& node, const NodePlan& plan, const RewriteContext& context) {
  graph::Node out = node;
  out.op_type = "DynamicQuantizeLSTM";
  out.domain = "com.microsoft";
  std::erase_if(out.attributes, [](const graph::Attribute& attribute) { return attribute.name == "layout"; });
  out.inputs.resize(8);
  for (const ConstantPlan& weight : {*plan.weight, plan.constants.at(0)}) {
    const Tensor& values = constant(node, weight.input, context);
    const Tensor codes = quantize_within(as_matrix(values), weight.params, weight.limits).reshaped(values.shape());
    out.inputs[weight.input] = context.add(node.inputs[weight.input] + "_quantized", transposed(codes));
    for (auto& name : add_lstm_params(node.inputs[weight.input], weight.params, values.shape()[0], context))
      out.inputs.push_back(std::move(name));
  }
  return out;
}

bool is_table(const graph::Node& node, const graph::Model& model) {
  const Tensor* table = ops::constant_input(node, 0, model);
  return table != nullptr && table->type() == DataType::float32 && table->shape().size() > 1 && table->count() >= least_table;
}

std::optional<NodePlan> plan_gather(const graph::Node& node, const graph::Model& model, const Scheme& scheme, std::string& why) {
  const Tensor* table = ops::constant_input(node, 0, model);
  if (!ops::is_quantizable_constant(table, "table", why)) return std::nullopt;
  const auto rank = static_cast<int64_t>(table->shape().size()), axis = node.integer("axis", 0);
  if (bits_of(scheme.type) != 8) {
    why = "Gather moves codes of 8 bits";
  } else if (scheme.granularity != Granularity::tensor && (axis == rank - 1 || axis == -1)) {
    why = "it gathers along the columns, which have scales of their own";
  } else {
    NodePlan plan{.form = NodeForm::dynamic};
    Scheme columns = scheme;
    if (columns.granularity == Granularity::group) columns.granularity = Granularity::channel;
    plan.weight = ConstantPlan{0, weight_params(*table, static_cast<int>(rank - 1), columns)};
    return plan;
  }
  return std::nullopt;
}

std::vector<graph::Node> gather_codes(const graph::Node& node, const NodePlan& plan, const RewriteContext& context) {
  const std::string& table = node.inputs.at(0);
  const std::string codes = context.add(table + "_quantized", codes_of(*plan.weight, constant(node, 0, context)));
  const auto params = add_params(table, params_of(*plan.weight), context);
  graph::Node gather = node;
  gather.inputs[0] = codes;
  gather.outputs = {context.fresh(node.outputs.at(0) + "_quantized")};
  graph::Node values = made("DequantizeLinear", context.fresh(node.name + "_DequantizeLinear"),
                            {gather.outputs[0], params[0], params[1]}, node.outputs);
  if (plan.weight->params.axis >= 0) values.set({"axis", int64_t{-1}});
  return {gather, values};
}

}  // namespace quasar::quant
