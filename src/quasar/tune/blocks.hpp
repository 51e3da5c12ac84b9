// Blocks of a network, found by structure: what belongs together when precision is given up.
//
// A cut is a place where everything that weighted layers have computed so far passes through a single value. Between two cuts
// lies a block when there is a branch between them (a residual block, an attention or feed-forward block with its sum); chains of
// single operators are put together until the next downsampling layer (stages of a convolution network).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::tune {

// Names of the `nodes` by block, both in topological order; every one of them in exactly one block.
std::vector<std::vector<std::string>> blocks_of(const graph::Model& model, const std::set<std::string>& nodes);

}  // namespace quasar::tune
