// Signal-to-quantization-noise ratio: 10·log10(Σ f² / Σ (f - q)²) dB; within ±200 dB, 200 when the outputs are identical.
#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class Sqnr : public Metric {
 public:
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return most_decibels; }
  std::optional<double> decibels_of_equal() const override { return most_decibels; }
  double of(const Pair& x, const Context&) const override {
    return decibels(dot(x.reference, x.reference), squared_distance(x.reference, x.candidate));
  }
};

}  // namespace

Entry<Metric> sqnr() {
  return {.help = "signal-to-quantization-noise ratio in dB, at most 200", .make = make_as<Sqnr, Metric>, .aliases = {"snr"}};
}

}  // namespace quasar::eval::metrics
