#include "quasar/strategy/tuner.hpp"

namespace quasar::tune::strategies {
namespace {

class Bayesian final : public SampledStrategy {
 protected:
  std::string name() const override { return "bayesian"; }
  std::string sampler() const override { return "gps"; }
  bool falls_back() const override { return false; }
};

}  // namespace

Entry<Strategy> bayesian() {
  return {.help = "Gaussian processes with expected improvement over the operators' options; no fallback.",
          .make = make_as<Bayesian, Strategy>};
}

}  // namespace quasar::tune::strategies
