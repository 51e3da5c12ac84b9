// The value of a Constant node, in any of the operator's forms. For the sources of graph/ only.
#pragma once

#include "quasar/graph/external_files.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Attributes value, value_float, value_floats, value_int, value_ints, value_string, value_strings, sparse_value
// (https://onnx.ai/onnx/operators/onnx__Constant.html). Throws Error for a node with none of them.
// `room`: as dense_of() takes it.
Tensor constant_of(const Node& node, ExternalFiles& files, size_t& room);

}  // namespace quasar::graph
