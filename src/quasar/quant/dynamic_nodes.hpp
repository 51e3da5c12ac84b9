// Dynamic quantization: activations are quantized at run time, from each input's least and greatest value, to uint8.
//   x -> DynamicQuantizeLinear -> q, s, z;   y = (MatMulInteger(q, Q, z, Z) as float) · s · S + b, or ConvInteger
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/quant/plan.hpp"
#include "quasar/quant/rewrite_context.hpp"

namespace quasar::quant {

// MatMul, Gemm or Conv with constant weights: one scale, or one per output.
std::vector<graph::Node> product_on_codes(const graph::Node& node, const NodePlan& plan, const RewriteContext& context);

// Whether ONNX Runtime's ConvInteger takes no longer than the Conv does in float, about: over planes, without groups, of 16
// inputs or more. Others take up to four times as long.
bool is_worth_conv_integer(const graph::Node& node, const graph::Model& model);
// A Conv with weights of one zero point.
std::optional<NodePlan> plan_conv(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why);

// LSTM with constant weights (plan.weight: W, plan.constants[0]: R): symmetric codes, one scale per tensor, or per gate
// and unit. The parameters are those of the weights as a matrix [directions · 4 · hidden, inputs].
std::optional<NodePlan> plan_lstm(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why);
graph::Node dynamic_lstm(const graph::Node& node, const NodePlan& plan, const RewriteContext& context);
// A node's weights in the shape that the parameters of its plan are meant for: an LSTM's as that matrix, others as they are.
Tensor as_planned(const graph::Node& node, const Tensor& weights);

constexpr size_t least_table = 1024;  // values: smaller ones are indices, constants and the like

// Rows of a constant table: codes of 8 bits are gathered and dequantized then; one scale, or one per column.
bool is_table(const graph::Node& node, const graph::Model& model);
std::optional<NodePlan> plan_gather(const graph::Node& node, const graph::Model& model, const Scheme& scheme, std::string& why);
std::vector<graph::Node> gather_codes(const graph::Node& node, const NodePlan& plan, const RewriteContext& context);

}  // namespace quasar::quant
