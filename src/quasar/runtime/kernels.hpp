// What ONNX Runtime really does with a quantized model: which nodes run in integer kernels, and what memory a run takes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::runtime {

// For each of the nodes named in `nodes`, whether ONNX Runtime runs it quantized. Seen in the graph that it optimizes the
// quantized model to (level extended; the last level changes memory layouts only):
//   node still there        it reads a tensor or weights of 4, 8 or 16-bit integers (QLinearConv, MatMulNBits, a MaxPool of
//                           codes …), and is no Cast and no Q/DQ itself;
//   fused into another      as that one, found by its name "<node>/<fusion>" or by the values that it gives;
//   gone                    (a Relu absorbed by the codes' lower end, a node that did nothing) as the node that gave its input.
// A name that the quantized model does not have gives false. `on_arm`: as ONNX Runtime's library for 64-bit Arm looks for
// kernels. Throws Error when ONNX Runtime cannot open the model.
std::map<std::string, bool> runs_quantized(const graph::Model& quantized, const std::vector<std::string>& nodes,
                                           bool on_arm = false);

// The graph that ONNX Runtime runs (level extended), but for memory layouts.
graph::Model optimized(const graph::Model& model, bool on_arm = false);

// Bytes of the weights and of the most tensors that are alive at the same time, in the graph that ONNX Runtime runs, for the
// first sample. Computed from the sizes of one run's tensors, freed after their last use: the same on every machine; what kernels
// need besides (packed weights, work buffers, the arena's slack) is not in it. Throws Error without samples.
size_t peak_memory(const graph::Model& model, const data::Dataset& samples);

}  // namespace quasar::runtime
