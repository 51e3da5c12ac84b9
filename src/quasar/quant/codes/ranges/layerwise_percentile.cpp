// Per tensor the percentile, among candidates, whose range gives the least mean error with the scheme that will be used.
#include <limits>
#include <vector>

#include "quasar/quant/codes/central_range.hpp"
#include "quasar/quant/codes/quantization_error.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant::ranges {
namespace {

class LayerwisePercentile final : public RangeMethod {
 public:
  explicit LayerwisePercentile(const Options& options) : squared_(options.text("metric") == "mse") {
    const Json& candidates = options.json("percentile_candidates");
    for (const Json& candidate : candidates) {
      const double percentile = candidate.is_number() ? candidate.get<double>() : 0;
      if (!(percentile >= 50 && percentile <= 100)) fail(candidates);
      shares_.push_back(percentile / 100);
    }
    if (shares_.empty()) fail(candidates);
  }
  stats::Requests needs() const override { return {.histogram = true}; }
  stats::Range pick(const stats::TensorStats& seen, const Scheme& scheme) const override {
    const QuantizationError error(seen.histogram);
    stats::Range best;
    double least = std::numeric_limits<double>::infinity();
    for (const double share : shares_) {
      const stats::Range range = central_range(seen.histogram, share, scheme.symmetric);
      const double value = squared_ ? error.squared(range, scheme) : error.absolute(range, scheme);
      if (value >= least) continue;
      least = value;
      best = range;
    }
    return best;
  }

 private:
  [[noreturn]] static void fail(const Json& candidates) {
    throw Error("calibration method layerwise_percentile: option 'percentile_candidates' is " + candidates.dump() +
                ", but must be a list of numbers from 50 to 100");
  }
  std::vector<double> shares_;
  bool squared_;
};

}  // namespace

Entry<RangeMethod> layerwise_percentile() {
  return {.help = "Per tensor, the percentile among candidates whose range gives the least quantization error.",
          .make = make_as<LayerwisePercentile, RangeMethod>,
          .options = {{.name = "percentile_candidates",
                       .fallback = Json::array({99.99, 99.999, 99.99999}),
                       .help = "percentages of the values kept, the first of equally good ones wins"},
                      {.name = "metric",
                       .fallback = "mae",
                       .help = "the error compared: mean absolute or mean squared",
                       .choices = {"mae", "mse"},
                       .aliases = {"lwp_metric"}}},
          .aliases = {"LayerWiseMethod.LayerWisePercentile"}};
}

}  // namespace quasar::quant::ranges
