// Errors about a model's inputs, and ONNX Runtime's own, in words for a user.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::runtime {

// ONNX Runtime's message as one line, without source paths, signatures and stack traces, the node that failed in front:
// "Reshape node 'flat': The input tensor cannot be reshaped …".
std::string shortened(std::string message);

std::vector<std::string> names_of(const std::vector<graph::Value>& values);

// Throws Error, naming the input, unless there is one tensor per input, of its type and of a shape that fits.
void check_inputs(const std::vector<graph::Value>& wanted, std::span<const Tensor> given);

}  // namespace quasar::runtime
