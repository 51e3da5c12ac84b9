// The range whose quantized distribution Q diverges least from the observed one, P: minimizes KL(P‖Q) = Σ P log(P/Q).
//
// P: the histogram inside the range, the clipped mass added to its outermost occupied bins. Q: the histogram inside the range,
// the mass of each code's cell [(k − ½)s, (k + ½)s) spread over the cell's occupied bins. Both are shares of all that was
// observed: Q sums to what is not clipped, so that clipping a share c costs at least −log(1 − c). (With Q brought to a sum of 1,
// a range that holds a single occupied bin would have a divergence of 0.) Not more is clipped than a code holds on average, nor
// than one value in a hundred. Symmetric schemes compare |x|. Where there are too few values for two bins per code that hold four
// each (channels of weights, small outputs), the whole range is taken: such histograms say nothing of a distribution. Exact zeros
// are represented exactly and add nothing. Source: S. Migacz, 8-bit inference with TensorRT, GTC 2017; there with 2048 bins,
// cells of whole bins, Q normalized, and ranges down to the 16th part.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "quasar/quant/codes/central_range.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant::ranges {
namespace {

double x_log_x(double x) {
  return x > 0 ? x * std::log(x) : 0;
}

// KL(P‖Q) for any part of a histogram's bins in O(codes), by sums over the bins before each edge.
class Divergence {
 public:
  Divergence(const stats::Histogram& histogram, const Scheme& scheme)
      : scheme_(scheme),
        seen_(with_zero(histogram.range())),
        width_(histogram.width()),
        zeros_(static_cast<double>(histogram.zeros())) {
    const auto counts = merged(histogram.counts(), bins_for(histogram));
    width_ *= static_cast<double>(histogram.bins()) / static_cast<double>(counts.size());
    const size_t half = counts.size() / 2;
    origin_ = scheme.symmetric ? 0 : half;
    const size_t bins = scheme.symmetric ? half : counts.size();
    mass_.assign(bins + 1, 0);
    occupied_ = x_log_x_ = mass_;
    for (size_t i = 0; i < bins; ++i) {
      const double count = static_cast<double>(scheme.symmetric ? counts[half + i] + counts[half - 1 - i] : counts[i]);
      mass_[i + 1] = mass_[i] + count;
      occupied_[i + 1] = occupied_[i] + (count > 0 ? 1 : 0);
      x_log_x_[i + 1] = x_log_x_[i] + x_log_x(count);
    }
  }

  // As many as the values can fill with four each, so that a bin's count says something; at most those of the histogram.
  static size_t bins_for(const stats::Histogram& histogram) {
    const uint64_t values = histogram.total() - histogram.zeros();
    size_t bins = histogram.bins();
    while (bins > 2 && 4 * bins > values) bins /= 2;
    return bins;
  }

  // With the scale that this range gives: what the codes reach of the observed range stays, the rest is clipped.
  double operator()(const stats::Range& range) const {
    const ScaleAndZero scale = scale_for(range, scheme_.type, scheme_.symmetric, scheme_.scale_type);
    const Grid grid = grid_of(scheme_.type, scheme_.symmetric);
    const double step = static_cast<double>(scale.scale);
    const double rounding = 1e-6 * step * static_cast<double>(grid.high - grid.low);  // of the scale to float32
    const double bottom = step * static_cast<double>(grid.low - scale.zero_point) - rounding;
    const double top = step * static_cast<double>(grid.high - scale.zero_point) + rounding;
    const double low = scheme_.symmetric ? 0 : std::max(seen_.low, bottom);
    const double high = std::min(scheme_.symmetric ? std::max(-seen_.low, seen_.high) : seen_.high, top);
    // A value on an edge lies in the bin that is farther from zero.
    const size_t bins = mass_.size() - 1;
    auto first = static_cast<size_t>(std::clamp(std::ceil(bin_of(low)) - 1, 0.0, static_cast<double>(bins - 1)));
    auto last =
        static_cast<size_t>(std::clamp(std::floor(bin_of(high)) + 1, static_cast<double>(first + 1), static_cast<double>(bins)));
    const double inside = mass_[last] - mass_[first];
    const double total = mass_[bins] + zeros_;
    const double outside = mass_[bins] - inside;
    if (inside == 0 || outside > mass_[bins] * std::min(0.01, 1.0 / static_cast<double>(grid.high - grid.low))) {
      return std::numeric_limits<double>::infinity();
    }
    while (count(first) == 0) ++first;
    while (count(last - 1) == 0) --last;
    const Sum sum = over_codes(step, first, last);
    const double value = x_log_x_[last] - x_log_x_[first] - sum.value + clipped(mass_[first], count(first), sum.first_log) +
                         clipped(mass_[bins] - mass_[last], count(last - 1), sum.last_log);
    return value / total;
  }

 private:
  struct Sum {
    double value = 0;                    // Σ over codes: mass · log(mass / occupied bins)
    double first_log = 0, last_log = 0;  // mean log of Q in the outermost bins
  };

  static std::vector<uint64_t> merged(std::span<const uint64_t> counts, size_t bins) {
    const size_t share = counts.size() / bins;
    std::vector<uint64_t> out(bins);
    for (size_t i = 0; i < counts.size(); ++i) out[i / share] += counts[i];
    return out;
  }

  double bin_of(double x) const { return x / width_ + static_cast<double>(origin_); }
  double count(size_t bin) const { return mass_[bin + 1] - mass_[bin]; }

  // Of the bins first … last − 1, of which the outermost are occupied.
  Sum over_codes(double step, size_t first, size_t last) const {
    if (step <= width_) {  // finer than the bins: Q is P but for what is clipped
      return {x_log_x_[last] - x_log_x_[first], std::log(count(first)), std::log(count(last - 1))};
    }
    Sum sum;
    const double begin = static_cast<double>(first), end = static_cast<double>(last);
    double from = begin;
    for (double k = std::round(edge(first) / step); from < end; ++k) {
      const double to = std::min(end, std::max(from, bin_of((k + 0.5) * step)));
      const double mass = before(mass_, to) - before(mass_, from), occupied = before(occupied_, to) - before(occupied_, from);
      if (mass > 0) {
        const double density = std::log(mass / occupied);
        sum.value += mass * density;
        sum.first_log += density * std::max(0.0, std::min(to, begin + 1) - from);
        sum.last_log += density * std::max(0.0, to - std::max(from, end - 1));
      }
      from = to;
    }
    return sum;
  }

  double edge(size_t bin) const { return (static_cast<double>(bin) - static_cast<double>(origin_)) * width_; }

  static double before(const std::vector<double>& sums, double position) {
    const auto i = static_cast<size_t>(position);
    if (i + 1 >= sums.size()) return sums.back();
    return sums[i] + (position - static_cast<double>(i)) * (sums[i + 1] - sums[i]);
  }

  // What `outside`, clipped into a bin of `count` values, adds to Σ p log(p/q).
  static double clipped(double outside, double count, double log_density) {
    return outside == 0 ? 0 : x_log_x(count + outside) - x_log_x(count) - outside * log_density;
  }

  Scheme scheme_;
  stats::Range seen_;
  double width_, zeros_;
  size_t origin_ = 0;
  std::vector<double> mass_, occupied_, x_log_x_;
};

class Entropy final : public RangeMethod {
 public:
  stats::Requests needs() const override { return {.histogram = true}; }

  // Ends shrink by factors down to 2^−8: symmetric together by sixteenths of an octave, asymmetric in turn by eighths. Of equally
  // good ranges the widest is taken.
  stats::Range pick(const stats::TensorStats& seen, const Scheme& scheme) const override {
    const stats::Range full = with_zero(seen.histogram.range());
    const Grid grid = grid_of(scheme.type, scheme.symmetric);
    if (full == stats::Range{} || Divergence::bins_for(seen.histogram) < 2 * static_cast<size_t>(grid.high - grid.low))
      return full;
    const Divergence divergence(seen.histogram, scheme);
    stats::Range best = full;
    double least = divergence(full);
    const auto shrink = [&](const auto& range_at) {
      const double step = scheme.symmetric ? 1.0 / 16 : 1.0 / 8;
      for (double octaves = step; octaves <= 8; octaves += step) {
        const stats::Range range = range_at(std::exp2(-octaves));
        const double value = divergence(range);
        if (value >= least) continue;
        least = value;
        best = range;
      }
    };
    if (scheme.symmetric) {
      const double top = std::max(-full.low, full.high);
      shrink([&](double f) { return stats::Range{std::max(-f * top, full.low), std::min(f * top, full.high)}; });
      return best;
    }
    for (int round = 0; round < 2; ++round) {
      const double low = best.low;
      if (full.high > 0) shrink([&](double f) { return stats::Range{low, f * full.high}; });
      const double high = best.high;
      if (full.low < 0) shrink([&](double f) { return stats::Range{f * full.low, high}; });
    }
    return best;
  }
};

}  // namespace

Entry<RangeMethod> entropy() {
  return {.help = "The range whose quantized distribution diverges least (Kullback-Leibler) from the observed one.",
          .make = make_as<Entropy, RangeMethod>,
          .aliases = {"kl", "CalibrationMethod.Entropy"}};
}

}  // namespace quasar::quant::ranges
