// Structural similarity with one window over all outputs (Wang et al. 2004), R the range of the float outputs over the
// evaluation set:
//   (2 μf μq + c1)(2 σfq + c2) / ((μf² + μq² + c1)(σf² + σq² + c2)),  c1 = (0.01 R)², c2 = (0.03 R)².
// σfq is the covariance: with the product of the deviations, shuffled outputs would count as identical.
#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class Ssim : public Metric {
 public:
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 1; }
  double of(const Pair& x, const Context& context) const override {
    const auto n = static_cast<double>(x.reference.size());
    const double range = context.high - context.low, c1 = 1e-4 * range * range, c2 = 9e-4 * range * range;
    const double f = mean(x.reference), q = mean(x.candidate);
    const auto moment = [&](std::span<const float> a, double mean_a, std::span<const float> b, double mean_b) {
      return sum(a.size(), [&](size_t i) { return (a[i] - mean_a) * (b[i] - mean_b); }) / n;
    };
    const double ff = moment(x.reference, f, x.reference, f), qq = moment(x.candidate, q, x.candidate, q);
    const double fq = moment(x.reference, f, x.candidate, q);
    // Constant outputs have no structure: a factor 0/0 is that of equal values.
    const auto ratio = [](double above, double below) { return below == 0 ? 1 : above / below; };
    return ratio(2 * f * q + c1, f * f + q * q + c1) * ratio(2 * fq + c2, ff + qq + c2);
  }

 private:
  static double mean(std::span<const float> values) {
    return sum(values.size(), [&](size_t i) { return static_cast<double>(values[i]); }) / static_cast<double>(values.size());
  }
};

}  // namespace

Entry<Metric> ssim() {
  return {.help = "structural similarity of all outputs as one window", .make = make_as<Ssim, Metric>};
}

}  // namespace quasar::eval::metrics
