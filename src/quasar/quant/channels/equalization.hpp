// Cross-layer equalization (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias Correction"):
// layers that follow each other channel by channel share out their channels' ranges.
//
// Between two layers stands nothing but what commutes with a positive factor per channel (Relu, pooling …), so that dividing
// the outputs of one by f and multiplying the inputs of the next by f changes nothing. In a chain of n layers (dense, then
// depthwise ones, then dense) with ranges r_1 … r_n of a channel, every range becomes their geometric mean g:
//   f_i = r_i · f_{i−1} / g,   f_0 = 1       (n = 2: f = √(r_1 / r_2), as in the paper)
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/quant/channels/channel_layer.hpp"

namespace quasar::quant {

// What stands between two layers of a chain.
struct Link {
  std::vector<std::string> values;                        // from the first layer's output to the second's input
  std::vector<std::pair<std::string, size_t>> constants;  // sums with a constant on the way: node, input (a vector of channels)
  size_t repeat = 1;      // inputs of the second layer per channel of the first (a Flatten between them)
  bool shiftable = true;  // nothing but Relu, and the second layer pads nothing
  bool cuts = false;      // a Relu takes what is negative
};

struct Chain {
  std::vector<ChannelLayer> layers;
  std::vector<Link> links;  // one less than layers
};

// Every two layers that follow each other are in one chain exactly; values that anyone else reads end a chain.
std::vector<Chain> find_chains(const graph::Model& model);

}  // namespace quasar::quant
