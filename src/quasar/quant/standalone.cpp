#include "quasar/quant/standalone.hpp"

#include "quasar/base/error.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/quant/dynamic_nodes.hpp"

namespace quasar::quant {
namespace {

// Scales of whole channels or tensors are repeated for blocks of so many inputs.
constexpr size_t neutral_block = 128;

// The weights of a matrix product as rows [outputs, inputs].
struct Matrix {
  size_t outputs = 0, inputs = 0;
  bool rows_first = false;  // stored [outputs, inputs]
  size_t at(size_t output, size_t input) const { return rows_first ? output * inputs + input : input * outputs + output; }
};

Matrix matrix_of(const Shape& shape, bool rows_first) {
  const auto first = static_cast<size_t>(shape.at(0)), second = static_cast<size_t>(shape.at(1));
  return rows_first ? Matrix{first, second, true} : Matrix{second, first, false};
}

// Which scale the weight has.
size_t scale_index(const QuantParams& params, const Matrix& matrix, size_t output, size_t input) {
  if (params.scales.size() == 1) return 0;
  if (params.block == 0) return output;
  const auto block = static_cast<size_t>(params.block);
  return matrix.rows_first ? output * ((matrix.inputs + block - 1) / block) + input / block
                           : input / block * matrix.outputs + output;
}

// MatMulNBits wants codes without sign, [outputs, blocks, bytes of a block], low bits first; zero points packed alike per output.
struct Packed {
  std::vector<uint8_t> codes, zero_points;
  std::vector<float> scales, real_zero_points;  // the latter where they are no integers
  size_t block = 0, blocks = 0;
  bool neutral = true;  // all zero points are the middle, which is the operator's default
};

Packed pack(const Tensor& codes, const QuantParams& params, const Matrix& matrix) {
  Packed out;
  const size_t bits = bits_of(params.type), per_byte = 8 / bits;
  out.block = params.block > 0 ? static_cast<size_t>(params.block) : neutral_block;
  out.blocks = (matrix.inputs + out.block - 1) / out.block;
  const size_t line = out.blocks * out.block / per_byte, zero_line = (out.blocks + per_byte - 1) / per_byte;
  out.codes.resize(matrix.outputs * line);
  out.zero_points.resize(matrix.outputs * zero_line);
  out.scales.resize(matrix.outputs * out.blocks);
  const int32_t middle = 1 << (bits - 1);
  const auto lowest = static_cast<int32_t>(grid_of(params.type, false).low);
  const std::vector<int32_t> plain = plain_codes(codes);
  const auto put = [&](std::vector<uint8_t>& to, size_t place, int32_t code) {
    to[place / per_byte] |= static_cast<uint8_t>(code << (place % per_byte * bits));
  };
  for (size_t o = 0; o < matrix.outputs; ++o) {
    for (size_t b = 0; b < out.blocks; ++b) {
      const size_t scale = scale_index(params, matrix, o, b * out.block);
      const int32_t zero = params.zero_points[scale] - lowest;
      out.scales[o * out.blocks + b] = params.scales[scale];
      if (!params.real_zero_points.empty())
        out.real_zero_points.push_back(params.real_zero_points[scale] - static_cast<float>(lowest));
      out.neutral = out.neutral && zero == middle;
      put(out.zero_points, o * zero_line * per_byte + b, zero);
      for (size_t i = b * out.block; i < (b + 1) * out.block; ++i)
        put(out.codes, o * line * per_byte + i, i < matrix.inputs ? plain[matrix.at(o, i)] - lowest : zero);
    }
  }
  return out;
}

bool is_transposed(const graph::Node& node) {
  return node.is("Gemm") && node.integer("transB", 0) != 0;
}

// Stands in for a MatMul or Gemm with a constant matrix. Form dynamic: the activations are quantized to 8 bits per block.
graph::Node matmul_nbits(const graph::Node& node, const NodePlan& plan, const RewriteContext& context) {
  const std::string& weights = node.inputs.at(1);
  const Tensor* values = context.model.initializer(weights);
  if (values == nullptr || values->shape().size() != 2)
    throw Error("the plan does not fit the model: the weights of " + node.name + " are not a constant matrix");
  const ConstantPlan& weight = *plan.weight;
  const QuantParams& params = weight.optimized ? weight.optimized->params : weight.params;
  const Matrix matrix = matrix_of(values->shape(), is_transposed(node));
  const Packed packed = pack(weight.optimized ? weight.optimized->codes : quantize(*values, params), params, matrix);
  const auto outputs = static_cast<int64_t>(matrix.outputs), blocks = static_cast<int64_t>(packed.blocks);
  const auto bytes_per_block = static_cast<int64_t>(packed.codes.size()) / outputs / blocks;
  graph::Node out{.name = node.name,
                  .op_type = "MatMulNBits",
                  .domain = "com.microsoft",
                  .inputs = {node.inputs[0]},
                  .outputs = node.outputs,
                  .inside = node.inside};
  out.inputs.push_back(context.add(weights + "_quantized", Tensor::of(Shape{outputs, blocks, bytes_per_block}, packed.codes)));
  out.inputs.push_back(context.add(weights + "_scale", Tensor::of(Shape{outputs * blocks}, packed.scales)));
  if (!packed.real_zero_points.empty()) {
    const Shape shape{static_cast<int64_t>(packed.real_zero_points.size())};
    out.inputs.push_back(context.add(weights + "_zero_point", Tensor::of(shape, packed.real_zero_points)));
  } else if (!packed.neutral) {
    const Shape shape{static_cast<int64_t>(packed.zero_points.size())};
    out.inputs.push_back(context.add(weights + "_zero_point", Tensor::of(shape, packed.zero_points)));
  }
  if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
    out.inputs.resize(5);
    const Tensor& bias = *context.model.initializer(node.inputs[2]);
    out.inputs.push_back(bias.shape().size() == 1 ? node.inputs[2]
                                                  : context.add(node.inputs[2] + "_vector", bias.reshaped(Shape{outputs})));
  }
  out.attributes = {{"K", static_cast<int64_t>(matrix.inputs)},
                    {"N", outputs},
                    {"bits", static_cast<int64_t>(bits_of(params.type))},
                    {"block_size", static_cast<int64_t>(packed.block)}};
  // 4: activations are quantized to 8 bits per block, sums are integers.
  if (plan.form == NodeForm::dynamic) out.set({"accuracy_level", int64_t{4}});
  return out;
}

std::optional<NodePlan> plan_product(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why) {
  const auto roles = ops::roles_of(node, model, why);
  if (!roles) return std::nullopt;
  if (!roles->weight || !roles->weight->axis) {
    why = "its weights are not a matrix";
  } else if (node.integer("transA", 0) != 0) {
    why = "its input is transposed";
  } else {
    const Tensor& weights = *model.initializer(node.inputs[roles->weight->input]);
    NodePlan plan{.form = form_of(config.activation)};
    plan.weight = ConstantPlan{roles->weight->input, weight_params(weights, roles->weight->axis, config.weight)};
    if (plan.form == NodeForm::dynamic && !are_in_blocks(plan.weight->params))
      limit_sums(*plan.weight, node, weights, config.saturation, 255, config.weight.scale_type);
    return plan;
  }
  return std::nullopt;
}

}  // namespace

// MatMulInteger has one scale per output and 8 bits.
bool are_in_blocks(const QuantParams& params) {
  return params.block > 0 || bits_of(params.type) < 8;
}

NodeForm form_of(const Scheme& activation) {
  if (activation.dynamic) return NodeForm::dynamic;
  return activation.type == DataType::float32 ? NodeForm::weights_only : NodeForm::pairs;
}

bool has_weights_for(NodeForm form, const graph::Node& node, const graph::Model& model) {
  const auto constant = [&](size_t input) { return ops::constant_input(node, input, model) != nullptr; };
  if (form == NodeForm::pairs) return false;
  if (node.is("MatMul") || node.is("Gemm")) return constant(1);
  if (form != NodeForm::dynamic) return false;
  return (node.is("LSTM") && constant(1) && constant(2)) || (node.is("Gather") && is_table(node, model));
}

std::string why_no_float_data(const graph::Node& node, const std::set<std::string>& floats) {
  return node.is("Gather") || floats.contains(node.inputs.front()) ? "" : "its data is not known to be float32";
}

std::set<std::string> nodes_for(NodeForm form, const graph::Model& model) {
  const std::set<std::string> floats = ops::float_values(model);
  std::set<std::string> out;
  for (const auto& node : model.nodes) {
    if (has_weights_for(form, node, model) && why_no_float_data(node, floats).empty()) out.insert(node.name);
  }
  return out;
}

std::string why_not_alone(NodeForm form, const graph::Node& node, const graph::Model& model) {
  if (form != NodeForm::dynamic) return "with values in float, only weights of MatMul and Gemm are quantized";
  const Tensor* table = node.is("Gather") ? ops::constant_input(node, 0, model) : nullptr;
  if (table != nullptr && table->type() == DataType::float32) {
    return table->shape().size() < 2 ? "its table is a vector: only tables with rows are stored as codes"
                                     : "its table has " + std::to_string(table->count()) + " values: tables of fewer than " +
                                           std::to_string(least_table) + " stay in float";
  }
  return "with scales found at run time, only MatMul, Gemm and LSTM with constant weights and tables of Gather are quantized";
}

std::optional<NodePlan> plan_alone(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why) {
  if (node.is("LSTM")) return plan_lstm(node, model, config, why);
  if (node.is("Gather")) return plan_gather(node, model, config.weight, why);
  return plan_product(node, model, config, why);
}

std::vector<graph::Node> rewrite_alone(const graph::Node& node, const NodePlan& plan, const RewriteContext& context) {
  if (node.is("LSTM")) return {dynamic_lstm(node, plan, context)};
  if (node.is("Gather")) return gather_codes(node, plan, context);
  if (plan.form == NodeForm::weights_only || are_in_blocks(plan.weight->params)) return {matmul_nbits(node, plan, context)};
  return matmul_integer(node, plan, context);
}

}  // namespace quasar::quant
