// Tensors that hold zeros only: constants, and values that were zero in all samples. Any scale fits them, so that the one they
// get for want of a range (1) must not decide those of others.
#pragma once

#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant {

// Gives Fixed::zeros positions with which their layers keep the rules as they stand:
//   output, input   of a weighted layer: w + i − o = 8, the middle of shift_cut's limits
//   one side of a sum: not coarser than the other sides, and at most 7 bits finer
//   weights         the same w + i − o = 8
//   bias            one bit finer than the output, so that it can take up what the output is off; not finer than the products
void fit_zeros(Network& network);

}  // namespace quasar::quant
