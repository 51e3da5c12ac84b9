// Mean squared error: Σ (f - q)² / n.
#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class Mse : public Metric {
 public:
  Direction direction() const override { return Direction::minimize; }
  std::optional<double> best_possible() const override { return 0; }
  double of(const Pair& x, const Context&) const override {
    return squared_distance(x.reference, x.candidate) / static_cast<double>(x.reference.size());
  }
};

}  // namespace

Entry<Metric> mse() {
  return {.help = "mean squared error", .make = make_as<Mse, Metric>};
}

}  // namespace quasar::eval::metrics
