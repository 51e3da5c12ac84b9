#include "quasar/rounding/weighted_rows.hpp"

#include <algorithm>
#include <array>

namespace quasar::tune {
namespace {

// Σ term(i), i < count, in four sums side by side.
template <class Term>
double sum_of(size_t count, const Term& term) {
  std::array<double, 4> sums{};
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (size_t k = 0; k < 4; k++) sums[k] += term(i + k);
  }
  for (; i < count; i++) sums[0] += term(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

double squared_distance(const Tensor& a, const Tensor& b, const Weighting& weighting) {
  double sum = 0;
  const bool alike = a.count() == b.count();
  for (size_t row = 0; row < weighting.rows(); row++) {
    const float* x = alike ? a.as<float>().data() + row * weighting.columns() : nullptr;
    const float* y = b.as<float>().data() + row * weighting.columns();
    sum += weighting.of(row) * sum_of(weighting.columns(), [&](size_t i) {
             const double difference = (alike ? static_cast<double>(x[i]) : 0) - static_cast<double>(y[i]);
             return difference * difference;
           });
  }
  return sum;
}

double spread(const Tensor& tensor, const Weighting& weighting) {
  double weights = 0, sum = 0, squares = 0;
  for (size_t row = 0; row < weighting.rows(); row++) {
    const float* values = tensor.as<float>().data() + row * weighting.columns();
    const double weight = weighting.of(row);
    weights += weight * static_cast<double>(weighting.columns());
    sum += weight * sum_of(weighting.columns(), [&](size_t i) { return static_cast<double>(values[i]); });
    squares += weight * sum_of(weighting.columns(),
                               [&](size_t i) { return static_cast<double>(values[i]) * static_cast<double>(values[i]); });
  }
  return std::max(squares - (weights > 0 ? sum * sum / weights : 0), 0.0);
}

}  // namespace quasar::tune
