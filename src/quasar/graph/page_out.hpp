// Weights of models that do not fit into memory.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Says that the weights are not needed for now: those that are mapped from files (external data) leave the process' memory and
// come back from the file when they are next read. All others stay, and nothing changes but the memory taken.
void page_out(const Model& model);

// Whether its weights take 1 GiB or more.
bool is_large(const Model& model);

// The same for one weight of a model. Where the model is not large it stays: to read it again would cost more.
void page_out(const Model& model, const Tensor& weight);

// The same values in a file without a name in the folder of temporary files ($TMPDIR), mapped. Not for texts. Throws Error of the
// world when it cannot be written.
Tensor in_scratch_file(const Tensor& tensor);

}  // namespace quasar::graph
