// Auto Search v1's L2, which is the mean squared difference: Σ (f - q)² / n.
#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class V1MeanSquare : public Metric {
 public:
  Direction direction() const override { return Direction::minimize; }
  std::optional<double> best_possible() const override { return 0; }
  double of(const Pair& x, const Context&) const override {
    return squared_distance(x.reference, x.candidate) / static_cast<double>(x.reference.size());
  }
};

}  // namespace

Entry<Metric> v1_L2() {
  return {.help = "v1's L2: mean squared difference", .make = make_as<V1MeanSquare, Metric>};
}

}  // namespace quasar::eval::metrics
