#include "quasar/quant/codes/central_range.hpp"

#include <algorithm>

namespace quasar::quant {
namespace {

// The t with a share of the mass at |x| ≤ t, linear within a bin.
double magnitude_quantile(const stats::Histogram& histogram, double share) {
  const auto counts = histogram.counts();
  const size_t half = counts.size() / 2;
  const double wanted = share * static_cast<double>(histogram.total());
  double below = static_cast<double>(histogram.zeros());
  if (below >= wanted) return 0;
  for (size_t j = 0; j < half; ++j) {
    const double mass = static_cast<double>(counts[half + j] + counts[half - 1 - j]);
    if (mass > 0 && below + mass >= wanted) return (static_cast<double>(j) + (wanted - below) / mass) * histogram.width();
    below += mass;
  }
  return histogram.limit();
}

}  // namespace

stats::Range with_zero(const stats::Range& range) {
  return {std::min(range.low, 0.0), std::max(range.high, 0.0)};
}

stats::Range central_range(const stats::Histogram& histogram, double share, bool symmetric) {
  const stats::Range seen = with_zero(histogram.range());
  stats::Range range;
  if (symmetric) {
    const double t = magnitude_quantile(histogram, share);
    range = {std::max(-t, seen.low), std::min(t, seen.high)};
  } else {
    const double tail = (1 - share) / 2;
    range = with_zero({histogram.quantile(tail), histogram.quantile(1 - tail)});
  }
  return range == stats::Range{} ? seen : range;
}

}  // namespace quasar::quant
