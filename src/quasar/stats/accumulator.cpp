#include "quasar/stats/accumulator.hpp"

#include <algorithm>

namespace quasar::stats {

void Requests::merge(const Requests& other) {
  histogram = histogram || other.histogram;
  averages.insert(other.averages.begin(), other.averages.end());
}

Accumulator::Accumulator(const Requests& requests) : histogram_(requests.histogram), averages_(requests.averages) {
  if (histogram_) seen_.histogram = Histogram();
}

void Accumulator::add(std::span<const float> values) {
  const Summary summary = summarize(values);
  add(summary);
  count(values, summary);
}

void Accumulator::count(std::span<const float> values, const Summary& summary) {
  if (histogram_ && summary.count > 0) seen_.histogram.add(values, summary);
}

void Accumulator::add(const Summary& summary) {
  seen_.not_finite += summary.not_finite;
  if (summary.count == 0) return;
  const Range range{summary.low, summary.high};
  const bool first = seen_.count == 0;
  for (const double c : averages_) {
    if (first) {
      seen_.averaged[c] = range;
    } else {
      Range& average = seen_.averaged[c];
      average.low += c * (range.low - average.low);
      average.high += c * (range.high - average.high);
    }
  }
  seen_.range = first ? range : Range{std::min(seen_.range.low, range.low), std::max(seen_.range.high, range.high)};
  seen_.count += summary.count;
  sum_ += summary.sum;
  sum_squares_ += summary.sum_squares;
}

void Accumulator::note_shape(const Shape& shape) {
  if (!shaped_) seen_.shape = shape;
  shaped_ = true;
  if (seen_.shape.size() != shape.size()) seen_.shape.clear();
  for (size_t i = 0; i < seen_.shape.size(); ++i) {
    if (seen_.shape[i] != shape[i]) seen_.shape[i] = -1;
  }
}

TensorStats Accumulator::result() const {
  TensorStats result = seen_;
  if (seen_.count > 0) {
    result.mean = sum_ / static_cast<double>(seen_.count);
    result.mean_square = sum_squares_ / static_cast<double>(seen_.count);
  }
  return result;
}

TensorStats of_values(std::span<const float> values, const Requests& requests) {
  Accumulator accumulator(requests);
  accumulator.add(values);
  return accumulator.result();
}

}  // namespace quasar::stats
