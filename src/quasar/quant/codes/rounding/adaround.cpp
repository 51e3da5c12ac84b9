// Each weight goes to one of its two neighbouring codes (Nagel et al. 2020), chosen by coordinate descent.
#include "quasar/quant/codes/gram_descent.hpp"
#include "quasar/quant/codes/rounding_options.hpp"

namespace quasar::quant::rounding {
namespace {

class AdaRound final : public RoundingMethod {
 public:
  explicit AdaRound(const Options& options) : sweeps_(sweeps_of(options)) {}
  Solution solve(const GramProblem& problem, size_t threads) const override {
    return descend(problem, {.neighbours_only = true, .sequential = true, .sweeps = sweeps_, .threads = threads});
  }

 private:
  size_t sweeps_;
};

}  // namespace

Entry<RoundingMethod> adaround() {
  return {.help = "Each weight to the better of its two neighbouring codes, for least error of the layer's output",
          .make = make_as<AdaRound, RoundingMethod>,
          .options = descent_options()};
}

}  // namespace quasar::quant::rounding
