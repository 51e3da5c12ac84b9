// One pass over an array: least and greatest value, sums, and how many values are not finite.
#pragma once

#include <cstddef>
#include <span>

namespace quasar::stats {

struct Summary {
  float low = 0, high = 0;          // of the finite values; both 0 when there are none
  double sum = 0, sum_squares = 0;  // of the finite values, in a fixed order (16 interleaved partial sums)
  size_t count = 0;                 // finite values
  size_t not_finite = 0;
};

Summary summarize(std::span<const float> values);

}  // namespace quasar::stats
