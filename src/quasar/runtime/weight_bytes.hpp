// How much the weights of a model take, and whether it can travel as one message.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::runtime {

// Of all initializers, in bytes.
size_t weight_bytes(const graph::Model& model);

// Whether weights travel in a file beside the model: protobuf's limit is 2 GB, and folded constants may add to it.
bool too_large_for_a_message(const graph::Model& model);

}  // namespace quasar::runtime
