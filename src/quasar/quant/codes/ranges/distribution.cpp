// The range mean ± k · standard deviation, cut to what was observed.
//   k: where clipping and rounding of normally distributed values cost least together (Banner, Nahshan, Soudry 2019,
//   "Post training 4-bit quantization of convolutional networks", table of α*/σ): 1.71 for 2 bits, 2.55 for 4, 3.92 for 8; 16
//   bits: 6
#include <algorithm>
#include <cmath>

#include "quasar/quant/codes/central_range.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant::ranges {
namespace {

double best_for_normal(DataType type) {
  if (bits_of(type) == 2) return 1.71;
  if (bits_of(type) == 4) return 2.55;
  return bits_of(type) == 8 ? 3.92 : 6;
}

class Distribution final : public RangeMethod {
 public:
  explicit Distribution(const Options& options) : deviations_(options.real("deviations")) {}
  stats::Requests needs() const override { return {}; }
  stats::Range pick(const stats::TensorStats& seen, const Scheme& scheme) const override {
    const double k = deviations_ > 0 ? deviations_ : best_for_normal(scheme.type);
    const double deviation = std::sqrt(std::max(seen.mean_square - seen.mean * seen.mean, 0.0));
    const stats::Range all = with_zero(seen.range);
    const stats::Range wanted = with_zero({seen.mean - k * deviation, seen.mean + k * deviation});
    const stats::Range range{std::max(all.low, wanted.low), std::min(all.high, wanted.high)};
    return range == stats::Range{} ? all : range;
  }

 private:
  double deviations_;
};

}  // namespace

Entry<RangeMethod> distribution() {
  return {.help = "Mean ± some standard deviations of what was observed; by default as many as suit normally distributed values.",
          .make = make_as<Distribution, RangeMethod>,
          .options = {{.name = "deviations",
                       .fallback = 0.0,
                       .help = "how many; 0: 1.71 for 2 bits, 2.55 for 4, 3.92 for 8, 6 for 16",
                       .low = 0.0,
                       .high = 100.0}},
          .aliases = {"CalibrationMethod.Distribution"}};
}

}  // namespace quasar::quant::ranges
