// Layers whose outputs are divided, position by position, by what a normalization behind them finds.
#pragma once

#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::tune {

// The value that a LayerNormalization (in one node, or written out: a mean over the last axis taken off) reads and of which
// `output` is a summand, through sums and Reshape; "": none. There an error counts relative to the spread of that value at its
// position: a few huge tokens, as transformers have them, would otherwise be all that counts.
std::string normalized_value(const std::string& output, const graph::Index& index);

// 1 / variance along the last axis, for every row of a float32 tensor [.., columns].
std::vector<float> weights_of_rows(const Tensor& value);

}  // namespace quasar::tune
