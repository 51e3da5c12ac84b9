// The float graph that everything else works on: cleaned by ONNX Runtime's own basic optimizer.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::runtime {

// Raises old opsets to 13 (per-channel QuantizeLinear), folds constants and BatchNorm, removes what does nothing
// (idle_moves.hpp), writes Gemm as a plain product and bias, strips unused opset imports, opens bodies of If, Loop and Scan
// (graph/bodies.hpp); users' node names and value names stay where their nodes stay. Throws Error (graph::obstacle, ONNX
// Runtime's message) for a model that cannot be treated. Design section 6 lists the traps.
graph::Model prepare(const graph::Model& model);

// The same without ONNX Runtime's clean-up: nodes stay as they came, but for the opset, types and open bodies.
graph::Model unoptimized(const graph::Model& model);

// The type and shape of every value of the graph (inputs and node outputs, not initializers), as ONNX Runtime infers them
// without running, but for those of bodies; type undefined: not a tensor, no shape: not even the rank is known. Throws Error with
// its message.
std::map<std::string, graph::Value> value_types(const graph::Model& model);
std::map<std::string, graph::Value> value_types(const graph::Model& model, const std::vector<std::string>& values);  // of these

// The model with the named values as its outputs (order kept), for looking inside; nodes that only fed other outputs go. Graph
// inputs and initializers may be named too, values of bodies not. Throws Error for a value that is not there, or named twice, or
// for no value.
graph::Model tapped(const graph::Model& model, const std::vector<std::string>& values);

}  // namespace quasar::runtime
