// Models in 16-bit floating point become float32 models: what quantization starts from.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// float16 and bfloat16 constants, inputs, outputs and attributes become float32; every value is exactly what it was. A model
// without any is returned as it is. Subgraphs are converted alike. Throws Error where one of them holds a sparse constant of such
// a type.
Model half_to_float(Model model);

}  // namespace quasar::graph
