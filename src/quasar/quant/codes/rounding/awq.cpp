// Activation-aware weight quantization (Lin et al. 2024): channels are scaled before (transforms/awq.cpp), ranges are clipped
// where that lowers the error of the layer's output (scale_search); then each weight goes to the nearest code.
#include "quasar/quant/codes/gram_descent.hpp"
#include "quasar/quant/codes/rounding_options.hpp"

namespace quasar::quant::rounding {
namespace {

class Awq final : public RoundingMethod {
 public:
  bool weights_only() const override { return true; }
  std::string transform() const override { return "awq"; }
  size_t probing_sweeps() const override { return 0; }
  Solution solve(const GramProblem& problem, size_t threads) const override {
    return descend(problem, {.sweeps = 0, .threads = threads});
  }
};

}  // namespace

Entry<RoundingMethod> awq() {
  std::vector<OptionSpec> options = layer_options();
  // Codes are the nearest, with biases as they are.
  std::erase_if(options,
                [](const OptionSpec& option) { return option.name.ends_with("_activations") || option.name == "update_bias"; });
  options.push_back({.name = "alpha",
                     .fallback = nullptr,
                     .help = "exponent of the channels' scales; searched by the error of the outputs when left out",
                     .low = 0,
                     .high = 1});
  return {.help = "Weights only: channels with large inputs get finer weights, which go to the nearest code",
          .make = make_as<Awq, RoundingMethod>,
          .options = std::move(options)};
}

}  // namespace quasar::quant::rounding
