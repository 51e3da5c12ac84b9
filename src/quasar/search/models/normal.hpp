// The standard normal distribution.
#pragma once

#include <cmath>

namespace quasar::search {

// Probability below z.
inline double normal_below(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

// The inverse by bisection, p within (0, 1).
double normal_quantile(double p);

// log(φ(z) + z·Φ(z)), the logarithm of the expected improvement of a standard normal value over -z, without underflow for any z
// (Ament et al. 2023).
double log_improvement(double z);

// log Φ(z), without underflow.
double log_normal_below(double z);

}  // namespace quasar::search
