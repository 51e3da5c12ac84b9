#include "quasar/quant/codes/quantization_error.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/cpu_dispatch.hpp"

namespace quasar::quant {
namespace {

constexpr size_t error_lanes = 8;

// Lowest and highest code minus the zero point, and 1/s.
struct Steps {
  double lowest, highest, per_scale;
};

struct Squared {
  static double integral(double u, const Steps& steps) {
    const double k = std::min(std::max(std::nearbyint(u), steps.lowest), steps.highest);
    const double error = u - k;
    return (k - steps.lowest) / 12 + error * error * error / 3;
  }
};

struct Absolute {
  static double integral(double u, const Steps& steps) {
    const double k = std::min(std::max(std::nearbyint(u), steps.lowest), steps.highest);
    const double error = u - k;
    return (k - steps.lowest) / 4 + std::abs(error) * error / 2;
  }
};

template <class Measure>
__attribute__((always_inline)) inline double mean(const double* low, const double* high, const double* share, size_t count,
                                                  const Steps& steps) {
  double sum[error_lanes] = {};
  for (size_t i = 0; i < count; i += error_lanes) {
    for (size_t j = 0; j < error_lanes; ++j) {
      const double from = low[i + j] * steps.per_scale, to = high[i + j] * steps.per_scale;
      sum[j] += share[i + j] * (Measure::integral(to, steps) - Measure::integral(from, steps)) / (to - from);
    }
  }
  double total = 0;
  for (const double part : sum) total += part;
  return total;
}

QUASAR_CLONES("avx512f", "avx2", "default")
double mean_squared(const double* low, const double* high, const double* share, size_t count, const Steps& steps) {
  return mean<Squared>(low, high, share, count, steps);
}

QUASAR_CLONES("avx512f", "avx2", "default")
double mean_absolute(const double* low, const double* high, const double* share, size_t count, const Steps& steps) {
  return mean<Absolute>(low, high, share, count, steps);
}

Steps steps_of(const ScaleAndZero& scale, DataType type) {
  const Grid codes = grid_of(type, false);  // QuantizeLinear saturates at the type's limits, symmetric or not
  return {static_cast<double>(codes.low - scale.zero_point), static_cast<double>(codes.high - scale.zero_point),
          1 / static_cast<double>(scale.scale)};
}

}  // namespace

QuantizationError::QuantizationError(const stats::Histogram& histogram) {
  const auto counts = histogram.counts();
  const stats::Range seen = histogram.range();
  const double total = static_cast<double>(histogram.total());
  // A bin cut to (nearly) a point keeps a width that the difference of integrals can resolve.
  const double narrowest = histogram.width() / 1024;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double low = std::max(histogram.edge(i), seen.low), high = std::min(histogram.edge(i + 1), seen.high);
    const double middle = (low + high) / 2, half = std::max(high - low, narrowest) / 2;
    low_.push_back(middle - half);
    high_.push_back(middle + half);
    share_.push_back(static_cast<double>(counts[i]) / total);
  }
  while (share_.size() % error_lanes != 0) {
    low_.push_back(0);
    high_.push_back(1);
    share_.push_back(0);
  }
}

double QuantizationError::squared(const stats::Range& range, const Scheme& scheme) const {
  const ScaleAndZero scale = scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type);
  const Steps steps = steps_of(scale, scheme.type);
  const double units = static_cast<double>(scale.scale) * static_cast<double>(scale.scale);
  return units * mean_squared(low_.data(), high_.data(), share_.data(), share_.size(), steps);
}

double QuantizationError::absolute(const stats::Range& range, const Scheme& scheme) const {
  const ScaleAndZero scale = scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type);
  const Steps steps = steps_of(scale, scheme.type);
  return static_cast<double>(scale.scale) * mean_absolute(low_.data(), high_.data(), share_.data(), share_.size(), steps);
}

}  // namespace quasar::quant
