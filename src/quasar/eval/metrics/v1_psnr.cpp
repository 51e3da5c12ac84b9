// Auto Search v1's psnr: 20·log10(255 / √mse) dB, whatever the outputs' range; 100 where the mse is below 1e-10.
#include <cmath>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class V1Psnr : public Metric {
 public:
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 20 * std::log10(255 / 1e-5); }  // at an mse of 1e-10
  std::optional<double> decibels_of_equal() const override { return most_; }
  double of(const Pair& x, const Context&) const override {
    const double mse = squared_distance(x.reference, x.candidate) / static_cast<double>(x.reference.size());
    return mse < 1e-10 ? most_ : 20 * std::log10(255 / std::sqrt(mse));
  }

 private:
  static constexpr double most_ = 100;
};

}  // namespace

Entry<Metric> v1_psnr() {
  return {.help = "v1's psnr in dB: peak 255, at most 100 for equal outputs", .make = make_as<V1Psnr, Metric>};
}

}  // namespace quasar::eval::metrics
