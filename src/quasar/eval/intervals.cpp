#include "quasar/eval/intervals.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/rng.hpp"

namespace quasar::eval {

std::pair<double, double> wilson(double successes, double n) {
  if (n <= 0) return {0, 1};
  constexpr double z = 1.959963984540054;  // 97.5 % quantile of the normal distribution
  const double share = successes / n, zz = z * z / n;
  const double middle = (share + zz / 2) / (1 + zz);
  const double half = z * std::sqrt(share * (1 - share) / n + zz / (4 * n)) / (1 + zz);
  // The interval touches the end exactly when every trial, or none, succeeded.
  return {successes <= 0 ? 0.0 : std::max(0.0, middle - half), successes >= n ? 1.0 : std::min(1.0, middle + half)};
}

std::pair<double, double> bootstrap(const std::vector<double>& values, uint64_t seed) {
  if (values.empty()) return {0, 0};
  constexpr size_t resamples = 1000;
  const uint64_t n = values.size();
  Rng rng(seed);
  std::vector<double> means(resamples);
  for (auto& mean : means) {
    // Two places from each 64 random bits, in two running sums; the bias of multiply-and-shift is below n / 2³².
    double even = 0, odd = 0;
    for (uint64_t i = 0; i + 1 < n; i += 2) {
      const uint64_t bits = rng.next();
      even += values[((bits >> 32) * n) >> 32];
      odd += values[((bits & 0xffffffff) * n) >> 32];
    }
    if (n % 2 == 1) even += values[((rng.next() >> 32) * n) >> 32];
    mean = (even + odd) / static_cast<double>(n);
  }
  return quantiles(std::move(means));
}

std::vector<double> resampled(const Pool& pool, size_t n, uint64_t seed) {
  constexpr size_t resamples = 200;
  Rng rng(seed);
  std::vector<double> out;
  std::vector<uint32_t> counts(n);
  for (size_t k = 0; k < resamples; ++k) {
    std::ranges::fill(counts, 0);
    for (size_t i = 0; i < n; ++i) ++counts[rng.below(n)];
    out.push_back(pool.value(counts));
  }
  return out;
}

std::pair<double, double> quantiles(std::vector<double> values) {
  const size_t beyond = values.size() / 40;
  std::ranges::sort(values);
  return {values[beyond - 1], values[values.size() - beyond]};
}

}  // namespace quasar::eval
