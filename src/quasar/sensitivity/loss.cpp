#include "quasar/sensitivity/loss.hpp"

#include <algorithm>
#include <cmath>

namespace quasar::tune {

std::vector<double> probabilities(std::span<const float> values) {
  std::vector<double> out(values.begin(), values.end());
  double sum = 0;
  bool already = true;
  for (const double value : out) {
    already = already && value >= 0;
    sum += value;
  }
  if (already && std::abs(sum - 1) < 1e-3) return out;
  const double top = *std::max_element(out.begin(), out.end());
  sum = 0;
  for (double& value : out) sum += value = std::exp(value - top);
  for (double& value : out) value /= sum;
  return out;
}

double at_least_tiny(double probability) {
  return std::max(probability, 1e-12);
}

}  // namespace quasar::tune
