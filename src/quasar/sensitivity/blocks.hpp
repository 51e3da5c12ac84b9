// Blocks of a network, found by structure: what belongs together when precision is given up.
//
// The stream is what weighted layers compute from the samples, layer upon layer. A cut is a place where all of it that is still
// to be read is a single value. Between two cuts lies a block when there is a branch between them (a residual block, an attention
// or feed-forward block with its sum), and so does a chain of single operators up to such a branch or to the next downsampling
// layer (stages of a convolution network). Branches that a product joins (a gate, as of squeeze-and-excitation, or an activation
// function in several nodes) are of the chain in which they stand.
//
// Beside the stream stands what many layers read and none of its layers computes: a mask, a table of positions, relative biases
// (also when their sizes come from the stream by Shape or Size: sizes are no data), to a decoder its encoder. Of several weighted
// layers that read the inputs it is tried which ones begin the stream: the choice with the most blocks is taken, and what stands
// beside is cut by itself in the same way.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::tune {

// Whether values are mixed by weights that a Softmax makes of them, as transformers do.
bool has_attention(const graph::Model& model);

// Names of the `nodes` by block, both in topological order (blocks by their first node); every one of them in exactly one block.
std::vector<std::vector<std::string>> blocks_of(const graph::Model& model, const std::set<std::string>& nodes);

}  // namespace quasar::tune
