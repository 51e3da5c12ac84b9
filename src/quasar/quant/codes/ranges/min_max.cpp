// Everything that was observed, or its moving average over the samples.
//   r ← r + c · (range of the next sample − r), starting with the first sample's range       (as ONNX Runtime and Quark)
// With a margin, 16-bit codes reach beyond it: what other samples have there is lost otherwise, and steps are small enough.
#include "quasar/quant/codes/central_range.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant::ranges {
namespace {

class MinMax final : public RangeMethod {
 public:
  explicit MinMax(const Options& options)
      : moving_(options.flag("moving_average")),
        constant_(options.real("moving_average_constant")),
        margin_(options.real("margin")) {}
  stats::Requests needs() const override { return moving_ ? stats::Requests{.averages = {constant_}} : stats::Requests{}; }
  double cost() const override { return 0.01; }
  BlockRange of_blocks() const override { return BlockRange::extremes; }
  stats::Range pick(const stats::TensorStats& seen, const Scheme& scheme) const override {
    const stats::Range range = with_zero(moving_ && seen.count > 0 ? seen.averaged.at(constant_) : seen.range);
    const double reach = bits_of(scheme.type) == 16 ? 1 + margin_ : 1;
    return {reach * range.low, reach * range.high};
  }

 private:
  bool moving_;
  double constant_, margin_;
};

}  // namespace

Entry<RangeMethod> min_max() {
  return {
      .help = "The least and greatest value observed, or their moving average over the samples.",
      .make = make_as<MinMax, RangeMethod>,
      .options = {{.name = "moving_average",
                   .fallback = false,
                   .help = "average the samples' ranges instead of taking the widest",
                   .aliases = {"CalibMovingAverage"}},
                  {.name = "moving_average_constant",
                   .fallback = 0.01,
                   .help = "weight of each next sample in the average",
                   .low = 0.0,
                   .high = 1.0,
                   .aliases = {"CalibMovingAverageConstant", "averaging_constant"}},
                  {.name = "margin",
                   .fallback = 0.0,
                   .help =
                       "share by which 16-bit codes of values reach beyond what was observed; not beyond the bounds of a Clip",
                   .low = 0.0,
                   .high = 1.0,
                   .aliases = {"RangeMargin"}}},
      .aliases = {"CalibrationMethod.MinMax"}};
}

}  // namespace quasar::quant::ranges
