// The range with the least mean squared quantization error on the histogram, never worse there than min_max.
//
// Float scales: both ends shrink by factors 2^−e, 0 ≤ e ≤ 8 (together for symmetric schemes, in turn for asymmetric ones).
// Power-of-two scales: the exponents from twice min_max's scale down to its 256th.
#include <algorithm>
#include <cmath>

#include "quasar/quant/codes/central_range.hpp"
#include "quasar/quant/codes/quantization_error.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant::ranges {
namespace {

class MinMse final : public RangeMethod {
 public:
  stats::Requests needs() const override { return {.histogram = true}; }
  BlockRange of_blocks() const override { return BlockRange::least_error; }
  stats::Range pick(const stats::TensorStats& seen, const Scheme& scheme) const override {
    Search search(seen.histogram, scheme);
    if (scheme.scale_type == ScaleType::power_of_two) {
      search.try_exponents();
    } else if (scheme.symmetric) {
      search.shrink_both();
    } else {
      search.shrink_in_turn();
    }
    return search.best;
  }

 private:
  struct Search {
    Search(const stats::Histogram& histogram, const Scheme& used)
        : scheme(used), error(histogram), full(with_zero(histogram.range())), best(full), least(error.squared(full, used)) {}

    void consider(const stats::Range& range) {
      const double value = error.squared(range, scheme);
      if (value >= least) return;
      least = value;
      best = range;
    }

    // Considers range_at(e) from coarse to fine: quarters, then sixteenths and sixty-fourths around the best.
    template <class RangeAt>
    void shrink(const RangeAt& range_at) {
      double centre = 0, from = 0, to = 8;
      for (const double step : {1.0 / 4, 1.0 / 16, 1.0 / 64}) {
        for (double e = from; e <= to; e += step) {
          const double before = least;
          consider(range_at(e));
          if (least < before) centre = e;
        }
        from = std::max(0.0, centre - step);
        to = centre + step;
      }
    }

    void shrink_both() {
      const double top = std::max(-full.low, full.high);
      shrink([&](double e) {
        const double t = top * std::exp2(-e);
        return stats::Range{std::max(-t, full.low), std::min(t, full.high)};
      });
    }

    void shrink_in_turn() {
      for (int round = 0; round < 2; ++round) {
        const double low = best.low;
        if (full.high > 0) shrink([&](double e) { return stats::Range{low, full.high * std::exp2(-e)}; });
        const double high = best.high;
        if (full.low < 0) shrink([&](double e) { return stats::Range{full.low * std::exp2(-e), high}; });
      }
    }

    // With 2^−pos given, an asymmetric range may keep the low end, the high end or the middle of what was seen.
    void try_exponents() {
      const double base = scale_for(full, scheme.type, scheme.symmetric, scheme.scale_type).scale;
      const Grid grid = grid_of(scheme.type, scheme.symmetric);
      const double codes = static_cast<double>(grid.high - grid.low);
      for (double scale = 2 * base; scale >= base / 256; scale /= 2) {
        const double width = scale * codes;
        if (scheme.symmetric) {
          consider({-width / 2, width / 2});
          continue;
        }
        for (const double low : {full.low, full.high - width, (full.low + full.high - width) / 2}) {
          const double start = std::clamp(low, -width, 0.0);
          consider({start, start + width});
        }
      }
    }

    Scheme scheme;
    QuantizationError error;
    stats::Range full, best;
    double least;
  };
};

}  // namespace

Entry<RangeMethod> min_mse() {
  return {.help = "The range with the least mean squared quantization error.",
          .make = make_as<MinMse, RangeMethod>,
          .aliases = {"mse", "PowerOfTwoMethod.MinMSE", "PowerOf2Method.MinMSE", "CalibrationMethod.MinMSE",
                      "ExtendedCalibrationMethod.MinMSE"}};
}

}  // namespace quasar::quant::ranges
