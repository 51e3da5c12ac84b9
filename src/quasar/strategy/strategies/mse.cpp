// Fallback in the order of the error that each operator's quantization makes at its own output, relative to the output's power
// (the mean squared error of tensors of different scale cannot be compared), over several samples.
#include <algorithm>

#include "quasar/sensitivity/unit_errors.hpp"
#include "quasar/strategy/fallback.hpp"

namespace quasar::tune::strategies {
namespace {

constexpr size_t mse_combinations = 5;
constexpr size_t mse_samples = 32;

class Mse final : public TuningStrategy {
 public:
  void traverse(Tuner& tuner) const override {
    const TuneConfig best = best_options(tuner, mse_combinations).config;
    auto errors = alone(tuner.toggled(best), *tuner.samples(mse_samples));
    std::ranges::stable_sort(errors, std::ranges::greater(), &UnitError::noise_to_signal);
    tuner.tell_sensitivity(sensitivities(errors));
    std::vector<std::pair<std::string, double>> costs;
    for (const auto& error : errors) costs.emplace_back(error.unit.node, error.noise_to_signal);
    fall_back_in_order(tuner, best, ranked(costs), "fallback by mean squared error");
  }

 protected:
  std::string name() const override { return "mse"; }
};

}  // namespace

Entry<Strategy> mse() {
  return {.help = "Fallback in the order of each operator's mean squared error.", .make = make_as<Mse, Strategy>};
}

}  // namespace quasar::tune::strategies
