// Auto Search v1's L1, which is a mean: Σ |f - q| / n.
#include <cmath>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class V1MeanDifference : public Metric {
 public:
  Direction direction() const override { return Direction::minimize; }
  std::optional<double> best_possible() const override { return 0; }
  double of(const Pair& x, const Context&) const override {
    const auto term = [&](size_t i) {
      return std::abs(static_cast<double>(x.reference[i]) - static_cast<double>(x.candidate[i]));
    };
    return sum(x.reference.size(), term) / static_cast<double>(x.reference.size());
  }
};

}  // namespace

Entry<Metric> v1_L1() {
  return {.help = "v1's L1: mean absolute difference", .make = make_as<V1MeanDifference, Metric>};
}

}  // namespace quasar::eval::metrics
