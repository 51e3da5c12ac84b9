#include "quasar/quant/standalone.hpp"

#include "quasar/base/error.hpp"
#include "quasar/graph/page_out.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/block_tables.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/quant/dynamic_nodes.hpp"
#include "quasar/quant/packed_codes.hpp"

namespace quasar::quant {
namespace {

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
  const MatrixRows matrix = rows_of(values->shape(), is_transposed(node));
  const PackedCodes made = packed(weight.optimized ? weight.optimized->codes : quantize(*values, params), params, matrix);
  const auto outputs = static_cast<int64_t>(matrix.outputs), blocks = static_cast<int64_t>(made.blocks);
  const auto bytes_per_block = static_cast<int64_t>(made.codes.size()) / outputs / blocks;
  graph::Node out{.name = node.name,
                  .op_type = "MatMulNBits",
                  .domain = "com.microsoft",
                  .inputs = {node.inputs[0]},
                  .outputs = node.outputs,
                  .inside = node.inside};
  out.inputs.push_back(context.add(weights + "_quantized", Tensor::of(Shape{outputs, blocks, bytes_per_block}, made.codes)));
  out.inputs.push_back(context.add(weights + "_scale", Tensor::of(Shape{outputs * blocks}, made.scales)));
  if (!made.real_zero_points.empty()) {
    const Shape shape{static_cast<int64_t>(made.real_zero_points.size())};
    out.inputs.push_back(context.add(weights + "_zero_point", Tensor::of(shape, made.real_zero_points)));
  } else if (!made.neutral) {
    const Shape shape{static_cast<int64_t>(made.zero_points.size())};
    out.inputs.push_back(context.add(weights + "_zero_point", Tensor::of(shape, made.zero_points)));
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
                    {"block_size", static_cast<int64_t>(made.block)}};
  // 4: activations are quantized to 8 bits per block, sums are integers.
  if (plan.form == NodeForm::dynamic) out.set({"accuracy_level", int64_t{4}});
  return out;
}

// Of LSTM and GRU: W and R [directions, gates · hidden, …] as codes, one scale per gate and unit. ONNX Runtime (1.30) makes
// floats of them in every run, which costs the more the fewer steps there are.
std::optional<NodePlan> plan_stored(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why) {
  if (bits_of(config.weight.type) != 8) {
    why = "its weights are stored in 8 bits only";
    return std::nullopt;
  }
  Scheme scheme = config.weight;
  if (scheme.granularity == Granularity::group) scheme.granularity = Granularity::channel;
  NodePlan plan;
  for (const size_t input : {1, 2}) {
    const Tensor* weights = ops::constant_input(node, input, model);
    if (!ops::is_quantizable_constant(weights, "weights", why)) return std::nullopt;
    plan.constants.push_back({input, weight_params(*weights, 1, scheme)});
  }
  return plan;
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
  if (node.is("LSTM") || (node.is("GRU") && form == NodeForm::weights_only)) return constant(1) && constant(2);
  if (form != NodeForm::dynamic) return false;
  return node.is("Gather") && is_table(node, model);
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
  if (form != NodeForm::dynamic)
    return std::string("with values in float, only constant weights of MatMul, Gemm, LSTM and GRU are quantized") +
           (node.is("Gather") && is_table(node, model) ? ", and tables that a rule names (layer_kinds: {table: UInt8Spec})" : "");
  const Tensor* table = node.is("Gather") ? ops::constant_input(node, 0, model) : nullptr;
  if (table != nullptr && table->type() == DataType::float32) {
    return table->shape().size() < 2 ? "its table is a vector: only tables with rows are stored as codes"
                                     : "its table has " + std::to_string(table->count()) + " values: tables of fewer than " +
                                           std::to_string(least_table) + " stay in float";
  }
  if (node.is("Conv") && ops::constant_input(node, 1, model) != nullptr && !is_worth_conv_integer(node, model))
    return "with scales found at run time, convolutions in groups, of fewer than 16 inputs or along one axis are slower than in "
           "float";
  return "with scales found at run time, only MatMul, Gemm and LSTM with constant weights and tables of Gather are quantized" +
         std::string(is_worth_conv_integer(node, model) ? ", and a Conv that a rule names (scheme DYNAMIC_CONV)" : "");
}

namespace {

std::optional<NodePlan> plan_one(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why) {
  if (ops::is_recurrent(node) && form_of(config.activation) == NodeForm::weights_only)
    return plan_stored(node, model, config, why);
  if (node.is("LSTM")) return plan_lstm(node, model, config, why);
  if (node.is("Conv")) return plan_conv(node, model, config, why);
  if (node.is("Gather")) {
    if (form_of(config.activation) == NodeForm::weights_only) return plan_table_in_blocks(node, model, config.weight, why);
    return plan_gather(node, model, config.weight, why);
  }
  return plan_product(node, model, config, why);
}

std::vector<graph::Node> rewrite_one(const graph::Node& node, const NodePlan& plan, const RewriteContext& context) {
  if (node.is("LSTM")) return {dynamic_lstm(node, plan, context)};
  if (node.is("Gather") && plan.form == NodeForm::weights_only) return {gather_block_quantized(node, plan, context)};
  if (node.is("Gather")) return gather_codes(node, plan, context);
  if (plan.form == NodeForm::weights_only || are_in_blocks(plan.weight->params)) return {matmul_nbits(node, plan, context)};
  return product_on_codes(node, plan, context);
}

void page_out_constants(const graph::Node& node, const graph::Model& model) {
  for (const auto& input : node.inputs) {
    if (const Tensor* constant = model.initializer(input)) graph::page_out(model, *constant);
  }
}

}  // namespace

std::optional<NodePlan> plan_alone(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why) {
  auto plan = plan_one(node, model, config, why);
  page_out_constants(node, model);
  return plan;
}

std::vector<graph::Node> rewrite_alone(const graph::Node& node, const NodePlan& plan, const RewriteContext& context) {
  auto nodes = rewrite_one(node, plan, context);
  page_out_constants(node, context.model);
  return nodes;
}

}  // namespace quasar::quant
