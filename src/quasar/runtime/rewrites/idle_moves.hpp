// Operators that move values and give what they were given: a Slice that takes everything, a Reshape to the shape that is there.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::runtime {

// Takes these out, where constants and the shapes that ONNX Runtime infers prove that the result is the input:
// - Slice in steps of 1 that begins at 0 and ends at the end of each of its axes or behind;
// - Reshape, Flatten, Squeeze, Unsqueeze, Expand and Tile whose result has the shape of the input, all of it known;
// - Transpose that leaves the axes where they are.
// What the model or a body of If, Loop and Scan hands out stays. Names of the other nodes and values stay. ONNX Runtime's basic
// clean-up removes only some of them (a Slice whose end is the greatest integer). OpenVINO (2026.4) crashes when it compiles such
// a Slice between pairs. `types_of`: the type and shape of every value (value_types() in prepare.hpp); asked once, if at all.
// Throws what it throws.
using TypesOf = std::function<std::map<std::string, graph::Value>(const graph::Model& model)>;
void drop_idle_moves(graph::Model& model, const TypesOf& types_of);

// Takes out Concat, Sum, Max, Min and Mean of one value. quant/write/keep_in_float.hpp writes such Sums, so that a model
// quantized in part has them; they come out before ONNX Runtime's clean-up, which moves pairs, but not past them.
void drop_copies(graph::Model& model);

}  // namespace quasar::runtime
