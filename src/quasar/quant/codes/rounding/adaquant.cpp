// Weights move freely on the grid (Hubara et al. 2020, "Improving Post Training Neural Quantization"), by coordinate descent from
// the nearest codes and from sequential rounding.
#include "quasar/quant/codes/gram_descent.hpp"
#include "quasar/quant/codes/rounding_options.hpp"

namespace quasar::quant::rounding {
namespace {

class AdaQuant final : public RoundingMethod {
 public:
  explicit AdaQuant(const Options& options) : sweeps_(sweeps_of(options)) {}
  Solution solve(const GramProblem& problem, size_t threads) const override {
    return descend(problem, {.sequential = true, .sweeps = sweeps_, .threads = threads});
  }

 private:
  size_t sweeps_;
};

}  // namespace

Entry<RoundingMethod> adaquant() {
  return {.help = "Each weight to any code, for least error of the layer's output",
          .make = make_as<AdaQuant, RoundingMethod>,
          .options = descent_options()};
}

}  // namespace quasar::quant::rounding
