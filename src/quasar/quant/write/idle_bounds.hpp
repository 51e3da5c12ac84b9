// A Clip between an operator and QuantizeLinear clips nothing at an end of the grid: where the code of a bound is the least or
// the greatest one, Q(clip(x)) = Q(x) there, as quantization is monotone. ONNX Runtime (1.30) compares the bounds themselves with
// the grid's ends when it drops a Clip, and their codes when it makes one operator of Conv, Clip and QuantizeLinear; where only
// the second holds, it writes two nodes of one name and refuses the model.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Where only the second holds, leaves out the bounds that the grid passes: of Clips whose only reader is a QuantizeLinear of 8
// bits and that read no DequantizeLinear. Codes stay the same.
void drop_idle_bounds(graph::Model& quantized);

}  // namespace quasar::quant
