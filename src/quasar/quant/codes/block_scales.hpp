// Scales of weights in blocks: so many neighbours along a layer's inputs share one.
#pragma once

#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

// `weights`: a matrix; `axis`: its input axis; blocks of scheme.group_size, the last one may be shorter. min_max takes each
// block's least and greatest value, min_mse shrinks that range (both ends alike) to the least squared error of the block's own
// values; any other calibration method sees each block as a tensor.
QuantParams block_params(const Tensor& weights, int axis, const Scheme& scheme);

}  // namespace quasar::quant
