// Structural similarity with one window over all outputs (Wang et al. 2004), R the range of the float outputs over the
// evaluation set:
//   (2 μf μq + c1)(2 σfq + c2) / ((μf² + μq² + c1)(σf² + σq² + c2)),  c1 = (0.01 R)², c2 = (0.03 R)².
// σfq is the covariance: with the product of the deviations, shuffled outputs would count as identical.
#include "quasar/eval/metric.hpp"
#include "quasar/eval/structural_similarity.hpp"

namespace quasar::eval::metrics {
namespace {

class Ssim : public Metric {
 public:
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 1; }
  double of(const Pair& x, const Context& context) const override {
    return structural_similarity(x.reference, x.candidate, context.high - context.low);
  }
};

}  // namespace

Entry<Metric> ssim() {
  return {.help = "structural similarity of all outputs as one window", .make = make_as<Ssim, Metric>};
}

}  // namespace quasar::eval::metrics
