// Weights that two models have in common.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Weights of `model` that equal those of the same name in `other` are those from then on, and their own memory is free.
// `mapped`: those of `model` are mapped from a file (external data). Then no more than a few megabytes of them are in memory at
// a time.
void share_equal(Model& model, const Model& other, bool mapped);

}  // namespace quasar::graph
