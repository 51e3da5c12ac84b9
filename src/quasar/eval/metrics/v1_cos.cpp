// Auto Search v1's cos: 0.5 + 0.5 f·q / (‖f‖ ‖q‖), in [0, 1]; 0 for a zero norm.
#include <cmath>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/share.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class V1Cosine : public Metric, public Share {
 public:
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 1; }
  double of(const Pair& x, const Context&) const override {
    const double norms = std::sqrt(dot(x.reference, x.reference)) * std::sqrt(dot(x.candidate, x.candidate));
    return norms == 0 ? 0 : 0.5 + 0.5 * std::clamp(dot(x.reference, x.candidate) / norms, -1.0, 1.0);
  }
};

}  // namespace

Entry<Metric> v1_cos() {
  return {.help = "v1's cos: cosine similarity moved to [0, 1]", .make = make_as<V1Cosine, Metric>};
}

}  // namespace quasar::eval::metrics
