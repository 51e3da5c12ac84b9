// Sum of absolute differences: Σ |f - q|.
#include <cmath>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class SumOfDifferences : public Metric {
 public:
  Direction direction() const override { return Direction::minimize; }
  std::optional<double> best_possible() const override { return 0; }
  double of(const Pair& x, const Context&) const override {
    return sum(x.reference.size(),
               [&](size_t i) { return std::abs(static_cast<double>(x.reference[i]) - static_cast<double>(x.candidate[i])); });
  }
};

}  // namespace

Entry<Metric> L1() {
  return {.help = "sum of absolute differences", .make = make_as<SumOfDifferences, Metric>};
}

}  // namespace quasar::eval::metrics
