#include "quasar/quant/codes/half_quadratic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quasar::quant {
namespace {

constexpr double p = 0.7, first_beta = 10, kappa = 1.01, least = 1e-8;
constexpr int rounds = 20;

double shrunk(double x, double beta) {
  const double size = std::abs(x);
  return std::copysign(std::max(size - std::pow(size + least, p - 1) / beta, 0.0), x);
}

}  // namespace

ScaleAndRealZero half_quadratic(std::span<const float> values, const stats::Range& range, DataType type) {
  const auto [scale, nearest] = scale_for(range, type, false);
  const Grid grid = grid_of(type, false);
  ScaleAndRealZero best{scale, static_cast<float>(nearest)};
  if (values.empty() || !(range.high > range.low)) return best;
  const auto step = static_cast<double>(scale), low = static_cast<double>(grid.low), high = static_cast<double>(grid.high);
  double zero = low - range.low / step, beta = first_beta, least_error = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    double error = 0, sum = 0;
    for (const float value : values) {
      const auto w = static_cast<double>(value);
      const double code = std::clamp(std::nearbyint(w / step + zero), low, high);
      const double off = w - step * (code - zero);
      error += off * off;
      sum += code - (w - shrunk(off, beta)) / step;
    }
    if (error < least_error) {
      least_error = error;
      best.zero_point = static_cast<float>(zero);
    }
    zero = sum / static_cast<double>(values.size());
    beta *= kappa;
  }
  return best;
}

}  // namespace quasar::quant
