// HardSigmoid, min(1, max(0, α·x + β)), where exporters write it as several operators.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Writes Add(x, c), Clip(0, d) and Div by d as HardSigmoid(x) with α = 1/d and β = c/d, the Div also behind a Mul(x, ·) that
// alone reads the Clip, as hard-swish has it, or as a Mul by 1/d. Float32, from opset 11 on, whose Clip has its bounds as inputs.
// The same function but for rounding. Where somebody else reads one of the values between, or the constants are others, nothing
// changes.
void write_hard_sigmoids(Model& model);

}  // namespace quasar::graph
