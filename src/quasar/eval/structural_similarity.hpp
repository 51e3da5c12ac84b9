// SSIM of one window: (2 μf μq + c1)(2 σfq + c2) / ((μf² + μq² + c1)(σf² + σq² + c2)), c1 = (0.01 R)², c2 = (0.03 R)².
// Wang et al. 2004.
#pragma once

#include "quasar/eval/sums.hpp"

namespace quasar::eval {

// R is the peak-to-peak range of the values. Constant values have no structure: a factor 0/0 is that of equal values.
inline double structural_similarity(std::span<const float> reference, std::span<const float> candidate, double range) {
  const auto n = static_cast<double>(reference.size());
  const auto mean = [&](std::span<const float> values) {
    return sum(values.size(), [&](size_t i) { return static_cast<double>(values[i]); }) / n;
  };
  const double c1 = 1e-4 * range * range, c2 = 9e-4 * range * range, f = mean(reference), q = mean(candidate);
  const auto moment = [&](std::span<const float> a, double mean_a, std::span<const float> b, double mean_b) {
    return sum(a.size(), [&](size_t i) { return (a[i] - mean_a) * (b[i] - mean_b); }) / n;
  };
  const double ff = moment(reference, f, reference, f), qq = moment(candidate, q, candidate, q);
  const double fq = moment(reference, f, candidate, q);
  const auto ratio = [](double above, double below) { return below == 0 ? 1 : above / below; };
  return ratio(2 * f * q + c1, f * f + q * q + c1) * ratio(2 * fq + c2, ff + qq + c2);
}

}  // namespace quasar::eval
