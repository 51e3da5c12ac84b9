// The range that holds a given share of what was observed: what percentile methods have in common.
#pragma once

#include "quasar/quant/codes/scheme.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

// Widened to hold zero, which quantization always represents.
stats::Range with_zero(const stats::Range& range);

// Symmetric schemes: ±t, where a share `share` of the mass has |x| ≤ t. Asymmetric ones: half of the rest is cut at each end.
// Linear within a bin, cut to the observed range, zero included. Where that leaves nothing but zero (nearly all values are
// zeros), the observed range. `share` from 0 to 1.
stats::Range central_range(const stats::Histogram& histogram, double share, bool symmetric);

}  // namespace quasar::quant
