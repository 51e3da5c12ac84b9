// Nodes that are quantized without Q/DQ pairs around them: they read and write float values, and hold the codes of their weights.
//   weights only   MatMul, Gemm -> com.microsoft MatMulNBits: codes of 2, 4 or 8 bits in blocks along the inputs;
//                  tables of Gather for which there is a rule -> GatherBlockQuantized;
//                  LSTM, GRU -> codes of 8 bits, DQ before the operator, which computes in float
//   dynamic        MatMul, Gemm -> DynamicQuantizeLinear, MatMulInteger (ONNX Runtime makes one kernel of them); with 4 bits or
//                  in blocks -> MatMulNBits that multiplies in integers;
//                  Conv that a rule names -> DynamicQuantizeLinear, ConvInteger;
//                  LSTM -> com.microsoft DynamicQuantizeLSTM; Gather -> codes, DQ
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/quant/plan.hpp"
#include "quasar/quant/rewrite_context.hpp"

namespace quasar::quant {

// How activations of this kind are quantized.
NodeForm form_of(const Scheme& activation);

// Whether a dynamic product with such weights is MatMulNBits, not MatMulInteger.
bool are_in_blocks(const QuantParams& params);

// Whether the node has weights that this form could quantize at all, float types aside (others are not worth a remark).
bool has_weights_for(NodeForm form, const graph::Node& node, const graph::Model& model);

// The nodes that this form could quantize, by name: those with weights for it whose data is known to be float32.
std::set<std::string> nodes_for(NodeForm form, const graph::Model& model);

// Why a node with weights for a form stays as it is all the same, by its data; "": it does not. `floats`: ops::float_values.
std::string why_no_float_data(const graph::Node& node, const std::set<std::string>& floats);

// Why these forms leave a node alone that has no weights for them, in words.
std::string why_not_alone(NodeForm form, const graph::Node& node, const graph::Model& model);

// The plan of such a node; nullopt: it stays in float, `why` says why.
std::optional<NodePlan> plan_alone(const graph::Node& node, const graph::Model& model, const Config& config, std::string& why);

// The nodes that stand in for this one; its outputs keep their names. Domains other than ONNX's are to be imported by the caller.
std::vector<graph::Node> rewrite_alone(const graph::Node& node, const NodePlan& plan, const RewriteContext& context);

}  // namespace quasar::quant
