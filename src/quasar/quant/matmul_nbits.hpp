// com.microsoft MatMulNBits: y = x Wᵀ + b with the codes of W [outputs, inputs] in blocks along the inputs.
#pragma once

#include "quasar/quant/plan.hpp"
#include "quasar/quant/rewrite_context.hpp"

namespace quasar::quant {

// Stands in for a MatMul or Gemm with a constant matrix. Form dynamic: the activations are quantized to 8 bits per block.
graph::Node matmul_nbits(const graph::Node& node, const NodePlan& plan, const RewriteContext& context);

}  // namespace quasar::quant
