// The range that keeps a share of the observed mass: by |x| for symmetric schemes, equal tails for asymmetric ones.
#include "quasar/quant/codes/central_range.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant::ranges {
namespace {

class Percentile final : public RangeMethod {
 public:
  explicit Percentile(const Options& options) : share_(options.real("percentile") / 100) {}
  stats::Requests needs() const override { return {.histogram = true}; }
  double cost() const override { return 0.01; }
  stats::Range pick(const stats::TensorStats& seen, const Scheme& scheme) const override {
    return central_range(seen.histogram, share_, scheme.symmetric);
  }

 private:
  double share_;
};

}  // namespace

Entry<RangeMethod> percentile() {
  return {
      .help = "The range that keeps a percentage of the observed values; the rest is clipped.",
      .make = make_as<Percentile, RangeMethod>,
      .options = {{.name = "percentile", .fallback = 99.999, .help = "per cent of the values kept", .low = 50.0, .high = 100.0}},
      .aliases = {"CalibrationMethod.Percentile"}};
}

}  // namespace quasar::quant::ranges
