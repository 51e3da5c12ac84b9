// The Euclidean distance in units of the float model's outputs: ‖f − q‖ / N, N the mean over all samples of ‖f‖.
#include <cmath>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/parts.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class RelativeDistance : public Metric {
 public:
  Direction direction() const override { return Direction::minimize; }
  std::optional<double> best_possible() const override { return 0; }

  double of(const Pair& x, const Context& context) const override {
    const double norm = context.parts == nullptr ? std::sqrt(dot(x.reference, x.reference)) : context.parts->norm();
    return norm > 0 ? std::sqrt(squared_distance(x.reference, x.candidate)) / norm : 0;
  }
};

}  // namespace

Entry<Metric> relative() {
  return {.help = "Euclidean distance over the size of the float model's outputs", .make = make_as<RelativeDistance, Metric>};
}

}  // namespace quasar::eval::metrics
