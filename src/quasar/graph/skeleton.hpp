// A serialized model whose large weights stay where they are.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::graph {

struct Skeleton {
  std::string bytes;  // as to_bytes() gives, but the tensors below are said to be external data, in a file that does not exist
  std::vector<std::pair<std::string, Tensor>> weights;  // by name; they share the model's memory
};

// Tensors of at least so many bytes are left out, but for texts, types below 8 bits, and those that nobody reads: ONNX Runtime
// (1.30) forgets these, and then refuses to be given them. Throws Error beyond protobuf's 2 GB.
Skeleton skeleton_of(const Model& model, size_t least_size);

// What save() writes without external data, in bytes.
uintmax_t saved_bytes(const Model& model);

}  // namespace quasar::graph
