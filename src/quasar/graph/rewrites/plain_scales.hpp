// Pairs of models that come quantized in part, in the form that kernels on codes take.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// A key of a model's metadata. It is for another runtime: ONNX Runtime would quantize what was left in float in it, so that
// whoever opens it there leaves its pairs as they are (session.disable_quant_qdq).
constexpr const char* pairs_stay = "quasar.pairs_stay";

// A DequantizeLinear of a computed value whose scales are all equal, as are its zero points, gets one of each: the same values.
// So quant/write/keep_in_float writes them, where kernels on codes must not come to be.
void write_plain_scales(Model& model);

}  // namespace quasar::graph
