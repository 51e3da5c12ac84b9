#include "quasar/search/models/normal.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quasar::search {
namespace {

constexpr double log_sqrt_2_pi = 0.9189385332046727;

// Mills' ratio (1 - Φ(t))/φ(t) for t > 0: the continued fraction from below where it converges fast, erfc elsewhere.
double mills(double t) {
  if (t < 5) return std::sqrt(std::numbers::pi / 2) * std::erfc(t / std::sqrt(2.0)) * std::exp(0.5 * t * t);
  double fraction = t;
  for (int k = 40; k > 0; --k) fraction = t + k / fraction;
  return 1 / fraction;
}

}  // namespace

double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1 - p);
  double low = -40, high = 0;
  for (int i = 0; i < 80; ++i) {
    const double middle = 0.5 * (low + high);
    (normal_below(middle) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double log_improvement(double z) {
  if (z > -1) return std::log(std::exp(-0.5 * z * z - log_sqrt_2_pi) + z * normal_below(z));
  const double t = -z;
  const double left = t < 1e3 ? 1 - t * mills(t) : 1 / (t * t);  // ~ 1/t² - 3/t⁴
  return -0.5 * z * z - log_sqrt_2_pi + std::log(std::max(left, 1e-300));
}

double log_normal_below(double z) {
  if (z > -5) return std::log(normal_below(z));
  return -0.5 * z * z - log_sqrt_2_pi + std::log(mills(-z));
}

}  // namespace quasar::search
