// Models in 16-bit floating point become float32 models: what quantization starts from. What the way back needs.
#pragma once

#include <set>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// float16 and bfloat16 constants, inputs, outputs and attributes become float32; every value is exactly what it was. A model
// without any is returned as it is. Subgraphs are converted alike. Throws Error where one of them holds a sparse constant of such
// a type.
Model half_to_float(Model model);

// Drops what the model says of these values' types and shapes, where it tells those of inner values: they have others now.
void forget_types(Model& model, const std::set<std::string>& values);

}  // namespace quasar::graph
