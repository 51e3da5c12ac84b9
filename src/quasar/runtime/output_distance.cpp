#include "quasar/runtime/output_distance.hpp"

#include <cmath>

namespace quasar::tune {

double output_distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); k++) {
    if (a[k].type() != DataType::float32 || b[k].type() != DataType::float32) continue;
    const auto x = a[k].as<float>(), y = b[k].as<float>();
    if (x.size() != y.size()) return HUGE_VAL;
    for (size_t i = 0; i < x.size(); i++) sum += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
  }
  return std::sqrt(sum);
}

}  // namespace quasar::tune
