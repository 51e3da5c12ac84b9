// What the library that judges really does with a quantized model, as it says itself; kernels.hpp asks ONNX Runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/runtime/device.hpp"

namespace quasar::runtime {

// For each of the nodes named in `nodes`, whether the library of the device, which is not ONNX Runtime, computes it on codes:
//   OpenVINO   all operations that have the node's name compute in 8 bits, or are part of another one's kernel; a node that is
//              gone was taken into its neighbours;
//   QNN HTP    the node does not fall to the CPU.
// Throws Error with the library's message when it cannot open the model.
std::map<std::string, bool> runs_quantized_in(const Device& device, const graph::Model& quantized,
                                              const std::vector<std::string>& nodes);

// Whether the operation stands for the node, or for a part of it: a convolution with a bias is "conv" and "conv/WithoutBiases".
bool stands_for(const std::string& operation, const std::string& node);

}  // namespace quasar::runtime
