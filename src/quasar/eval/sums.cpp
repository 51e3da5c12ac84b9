#include "quasar/eval/sums.hpp"

#include <cmath>

namespace quasar::eval {

double decibels(double signal, double noise) {
  if (noise == 0) return most_decibels;
  return std::clamp(10 * std::log10(signal / noise), -most_decibels, most_decibels);
}

}  // namespace quasar::eval
