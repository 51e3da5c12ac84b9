// Questions about a node's inputs that every operator family asks.
#pragma once

#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::ops {

// Whether the node has this input (it is neither beyond the end nor left out).
bool has_input(const graph::Node& node, size_t input);

// The constant that feeds this input; nullptr when there is none or it is computed.
const Tensor* constant_input(const graph::Node& node, size_t input, const graph::Model& model);

// A non-empty float32 constant without NaN and infinities, which is what can be quantized ahead of time; `why` says what is wrong
// with the `role` ("weights", "bias") otherwise.
bool is_quantizable_constant(const Tensor* constant, const std::string& role, std::string& why);

// The same for an input that may also be computed: true for every input that is not a constant.
bool may_be_activation(const graph::Node& node, size_t input, const graph::Model& model, std::string& why);

}  // namespace quasar::ops
