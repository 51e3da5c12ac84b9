// Cosine similarity: f·q / (‖f‖ ‖q‖), 0 when either is zero.
#include <algorithm>
#include <cmath>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class Cos : public Metric {
 public:
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 1; }
  double of(const Pair& x, const Context&) const override {
    const double norms = std::sqrt(dot(x.reference, x.reference)) * std::sqrt(dot(x.candidate, x.candidate));
    return norms == 0 ? 0 : std::clamp(dot(x.reference, x.candidate) / norms, -1.0, 1.0);
  }
};

}  // namespace

Entry<Metric> cos() {
  return {.help = "cosine similarity", .make = make_as<Cos, Metric>, .aliases = {"cosine", "cosine_similarity"}};
}

}  // namespace quasar::eval::metrics
