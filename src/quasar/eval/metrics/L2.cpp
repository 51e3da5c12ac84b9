// Euclidean distance: ‖f - q‖ = √ Σ (f - q)².
#include <cmath>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class EuclideanDistance : public Metric {
 public:
  Direction direction() const override { return Direction::minimize; }
  std::optional<double> best_possible() const override { return 0; }
  double of(const Pair& x, const Context&) const override { return std::sqrt(squared_distance(x.reference, x.candidate)); }
};

}  // namespace

Entry<Metric> L2() {
  return {.help = "Euclidean distance", .make = make_as<EuclideanDistance, Metric>};
}

}  // namespace quasar::eval::metrics
