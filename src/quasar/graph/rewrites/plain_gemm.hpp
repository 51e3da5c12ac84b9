// Gemm, Y = α·A·B + β·C (ONNX operators, Gemm), in the form that integer kernels have: a product and one value per output.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Of Gemms in float32 with a constant B: α becomes part of B and β of a constant C; a C of one value is written once per output;
// any other C (a matrix, a column, a computed value) is added behind by an Add, a computed one times β by a Mul where that is
// not 1. The same function but for the rounding of α·B and β·C to float32. Everything else stays as it is.
void write_plain_gemm(Model& model);

}  // namespace quasar::graph
