#include "quasar/strategy/tuner.hpp"

namespace quasar::tune::strategies {
namespace {

class RandomOptions final : public SampledStrategy {
 protected:
  std::string name() const override { return "random"; }
  std::string sampler() const override { return "random"; }
  bool falls_back() const override { return false; }
};

}  // namespace

Entry<Strategy> random() {
  return {.help = "Random configurations of the operators' options, none twice; no fallback.",
          .make = make_as<RandomOptions, Strategy>};
}

}  // namespace quasar::tune::strategies
