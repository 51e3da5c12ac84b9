// Weights are rounded one after the other; what each loses is made up for by those still to come (Frantar et al. 2022).
#include "quasar/quant/codes/gram_descent.hpp"
#include "quasar/quant/codes/rounding_options.hpp"

namespace quasar::quant::rounding {
namespace {

class Gptq final : public RoundingMethod {
 public:
  explicit Gptq(const Options& options) : by_activation_(options.flag("act_order")) {}
  Solution solve(const GramProblem& problem, size_t threads) const override {
    return descend(problem, {.sequential = true, .by_activation = by_activation_, .sweeps = 0, .threads = threads});
  }

 private:
  bool by_activation_;
};

}  // namespace

Entry<RoundingMethod> gptq() {
  std::vector<OptionSpec> options = layer_options();
  options.push_back({.name = "act_order",
                     .fallback = true,
                     .help = "fix the weights of the largest inputs first",
                     .aliases = {"desc_act", "actorder"}});
  return {.help = "Weights one after the other, each making up for the errors so far",
          .make = make_as<Gptq, RoundingMethod>,
          .options = std::move(options)};
}

}  // namespace quasar::quant::rounding
