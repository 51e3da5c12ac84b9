// How much the weights of a model take, and those that do not fit into memory.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Bytes from which on weights are large: their place in memory is worth more than reading them again, and they travel in a file
// beside the model.
constexpr size_t large_weights = size_t{1} << 30;

// Of all initializers, in bytes: what a model's file consists of, but for a few kilobytes.
size_t weight_bytes(const Model& model);

// Says that the weights are not needed for now: those that are mapped from files (external data) leave the process' memory and
// come back from the file when they are next read. All others stay, and nothing changes but the memory taken.
void page_out(const Model& model);

// Whether its weights are large.
bool is_large(const Model& model);

// Whether weights travel in a file beside the model: protobuf's limit is 2 GB, and folded constants may add to it.
bool too_large_for_a_message(const Model& model);

// The same for one weight of a model. Where the model is not large it stays: to read it again would cost more.
void page_out(const Model& model, const Tensor& weight);

// The same values in a file without a name in the folder of temporary files ($TMPDIR), mapped. Not for texts. Throws Error of the
// world when it cannot be written.
Tensor in_scratch_file(const Tensor& tensor);

}  // namespace quasar::graph
