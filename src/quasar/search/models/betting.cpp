#include "quasar/search/models/betting.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "quasar/search/pruner.hpp"

namespace quasar::search {
namespace {

constexpr std::array fractions{0.95, 0.57, 0.34, 0.2, 0.12, 0.07, 0.04, 0.025};

// The greatest loss of the other one above the floor among the samples i, i + 1, …, for every i that has been seen and the next.
std::vector<double> bounds_of(std::span<const double> other, double floor, size_t seen) {
  double greatest = 0;
  std::vector<double> bounds(seen + 1);
  for (size_t i = other.size(); i-- > 0;) {
    greatest = std::max(greatest, other[i] - floor);
    if (i <= seen) bounds[i] = greatest;
  }
  return bounds;
}

// ln of the mean of exp(x).
double log_mean_exp(const std::array<double, fractions.size()>& logs) {
  const double top = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double x : logs) sum += std::exp(x - top);
  return top + std::log(sum / static_cast<double>(logs.size()));
}

}  // namespace

bool refuted(std::span<const double> losses, std::span<const double> other, double floor, double margin, double needed) {
  const size_t total = other.size();
  const double tiny =
      1e-12 * (std::abs(mean_of(other)) + std::abs(floor) + std::abs(margin));  // below it, differences are rounding
  const std::vector<double> bounds = bounds_of(other, floor, losses.size());
  std::array<double, fractions.size()> wealth{};
  double sum = 0;
  for (size_t t = 0; t <= losses.size() && t < total; ++t) {
    const double mean = (static_cast<double>(total) * margin - sum) / static_cast<double>(total - t);
    const double room = bounds[t] + mean;
    if (room < -tiny) return true;  // not even the best possible rest would do
    if (t == losses.size()) break;
    const double difference = losses[t] - other[t];
    if (room > tiny) {
      const double gain = std::max(-1.0, (difference - mean) / room);
      for (size_t c = 0; c < wealth.size(); ++c) wealth[c] += std::log1p(fractions[c] * gain);
      if (log_mean_exp(wealth) >= needed) return true;
    }
    sum += difference;
  }
  return false;
}

}  // namespace quasar::search
