// Peak signal-to-noise ratio: 10·log10(R² n / Σ (f - q)²) dB, R the range of the float outputs over the evaluation set;
// within ±200 dB, 200 when the outputs are identical.
#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class Psnr : public Metric {
 public:
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return most_decibels; }
  std::optional<double> decibels_of_equal() const override { return most_decibels; }
  double of(const Pair& x, const Context& context) const override {
    const double range = context.high - context.low;
    return decibels(range * range * static_cast<double>(x.reference.size()), squared_distance(x.reference, x.candidate));
  }
};

}  // namespace

Entry<Metric> psnr() {
  return {.help = "peak signal-to-noise ratio in dB (peak: range of the float outputs), at most 200",
          .make = make_as<Psnr, Metric>};
}

}  // namespace quasar::eval::metrics
