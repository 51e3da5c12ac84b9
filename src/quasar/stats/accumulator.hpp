// The statistics of one value while its samples come by, in order.
#pragma once

#include <span>

#include "quasar/stats/statistics.hpp"

namespace quasar::stats {

class Accumulator {
 public:
  explicit Accumulator(const Requests& requests);
  // One sample's values. The result depends on the order of the samples only through moving averages and the last bits of sums.
  void add(std::span<const float> values);
  // The same in two parts: what depends on the order, and the histogram, which does not.
  void add(const Summary& summary);
  void count(std::span<const float> values, const Summary& summary);
  // The shape of the sample that was added last.
  void note_shape(const Shape& shape);
  TensorStats result() const;
  size_t not_finite() const { return seen_.not_finite; }

 private:
  TensorStats seen_;
  bool histogram_;
  std::set<double> averages_;
  double sum_ = 0, sum_squares_ = 0;
  bool shaped_ = false;
};

}  // namespace quasar::stats
