// Everything that was observed, widened so that a power-of-two or rational scale covers it: nothing is clipped.
//   s = 2^⌈log2 s_min_max⌉ instead of the nearest power, which may clip up to 30 %. Float scales: as min_max.
#include "quasar/quant/codes/central_range.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant::ranges {
namespace {

class NonOverflow final : public RangeMethod {
 public:
  stats::Requests needs() const override { return {}; }
  double cost() const override { return 0.01; }
  stats::Range pick(const stats::TensorStats& seen, const Scheme& scheme) const override {
    const stats::Range range = with_zero(seen.range);
    if (scheme.scale_type == ScaleType::float32 || range == stats::Range{}) return range;
    const auto scale = static_cast<double>(scale_for(range, scheme.type, scheme.symmetric).scale);
    const double factor = scale_above(scale, scheme.scale_type) / scale;
    return {range.low * factor, range.high * factor};
  }
};

}  // namespace

Entry<RangeMethod> non_overflow() {
  return {
      .help =
          "The least and greatest value observed; power-of-two and rational scales are rounded up, so that nothing is clipped.",
      .make = make_as<NonOverflow, RangeMethod>,
      .aliases = {"PowerOfTwoMethod.NonOverflow", "PowerOf2Method.NonOverflow", "CalibrationMethod.NonOverflow"}};
}

}  // namespace quasar::quant::ranges
