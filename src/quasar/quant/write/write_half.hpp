// A model of codes and float32 becomes one of codes and float16.
#pragma once

#include <set>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Operators with float16 (half_operators.hpp) compute in it, but for `wide` ones; their constants and the scales of pairs around
// them are float16 too. Casts stand where both types meet. Inputs and outputs of the model, and what subgraphs read, keep their
// types. A pair's scale is the same number on both sides, whatever their types. Raises the opset to 19, the first in which
// QuantizeLinear and DequantizeLinear have float16.
//
// In islands: only operators with has_arm_kernel(), where a Conv, Gemm or MatMul stands among them, as casts take time, too.
// Pairs keep scales of float32, and opset 14 is enough.
void write_half(graph::Model& model, const std::set<std::string>& wide, bool in_islands);

}  // namespace quasar::quant
