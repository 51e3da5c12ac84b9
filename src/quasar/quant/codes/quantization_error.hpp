// The mean error of quantizing what a histogram saw, for any scale and zero point.
//
// With u = x/s and k(u) = clamp(round(u), a, b), where a and b are the lowest and highest code minus the zero point, the error
// of x is s·(u − k). Within a bin the values are taken as evenly spread, so that a bin's mean error is an exact difference of
// antiderivatives:  ∫ (u − k)² du = (k − a)/12 + (u − k)³/3,   ∫ |u − k| du = (k − a)/4 + sign(u − k)·(u − k)²/2.
// Exact zeros are free: zero is always representable.
#pragma once

#include <vector>

#include "quasar/quant/codes/scheme.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

class QuantizationError {
 public:
  explicit QuantizationError(const stats::Histogram& histogram);

  // Mean over all values, with the scale that `scheme` gives this range; in the values' units (absolute) or their square.
  double squared(const stats::Range& range, const Scheme& scheme) const;
  double absolute(const stats::Range& range, const Scheme& scheme) const;

 private:
  // Occupied bins, cut to the observed range: edges and shares of the mass. Padded with empty bins to a multiple of 8.
  std::vector<double> low_, high_, share_;
};

}  // namespace quasar::quant
