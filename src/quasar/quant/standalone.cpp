#include "quasar/quant/standalone.hpp"

#include "quasar/base/error.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/quant/dynamic_nodes.hpp"
#include "quasar/quant/matmul_nbits.hpp"

namespace quasar::quant {
namespace {

// MatMulInteger has one scale per output and 8 bits.
bool in_blocks(const QuantParams& params) {
  return params.block > 0 || bits_of(params.type) == 4;
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
    if (plan.form == Form::dynamic && !in_blocks(plan.weight->params))
      limit_sums(*plan.weight, node, weights, config.saturation, 255, config.weight.scale_type);
    return plan;
  }
  return std::nullopt;
}

}  // namespace

Form form_of(const Scheme& activation) {
  if (activation.dynamic) return Form::dynamic;
  return activation.type == DataType::float32 ? Form::weights_only : Form::pairs;
}

bool has_weights_for(Form form, const graph::Node& node, const graph::Model& model) {
  const auto constant = [&](size_t input) { return ops::constant_input(node, input, model) != nullptr; };
  if (form == Form::pairs) return false;
  if (node.is("MatMul") || node.is("Gemm")) return constant(1);
  if (form != Form::dynamic) return false;
  return (node.is("LSTM") && constant(1) && constant(2)) || (node.is("Gather") && is_table(node, model));
}

std::string why_no_float_data(const graph::Node& node, const std::set<std::string>& floats) {
  return node.is("Gather") || floats.contains(node.inputs.front()) ? "" : "its data is not known to be float32";
}

std::set<std::string> nodes_for(Form form, const graph::Model& model) {
  const std::set<std::string> floats = ops::float_values(model);
  std::set<std::string> out;
  for (const auto& node : model.nodes) {
    if (has_weights_for(form, node, model) && why_no_float_data(node, floats).empty()) out.insert(node.name);
  }
  return out;
}

std::string why_not_alone(Form form, const graph::Node& node, const graph::Model& model) {
  if (form != Form::dynamic) return "with values in float, only weights of MatMul and Gemm are quantized";
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
  if (plan.form == Form::weights_only || in_blocks(plan.weight->params)) return {matmul_nbits(node, plan, context)};
  return matmul_integer(node, plan, context);
}

}  // namespace quasar::quant
