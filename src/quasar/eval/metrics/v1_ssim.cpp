// Auto Search v1's ssim: one window, range 255 whatever the outputs' range.
#include "quasar/eval/metric.hpp"
#include "quasar/eval/structural_similarity.hpp"

namespace quasar::eval::metrics {
namespace {

class V1Ssim : public Metric {
 public:
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 1; }
  double of(const Pair& x, const Context&) const override { return structural_similarity(x.reference, x.candidate, 255); }
};

}  // namespace

Entry<Metric> v1_ssim() {
  return {.help = "v1's ssim: all outputs as one window, range 255", .make = make_as<V1Ssim, Metric>};
}

}  // namespace quasar::eval::metrics
