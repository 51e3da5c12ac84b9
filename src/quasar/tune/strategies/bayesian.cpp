#include "quasar/tune/tuner.hpp"

namespace quasar::tune::strategies {
namespace {

class Bayesian final : public TuningStrategy {
 public:
  Finding run(const Workbench& bench) const override { return sampled(bench, name(), "gps"); }
  void traverse(Tuner&) const override {}

 protected:
  std::string name() const override { return "bayesian"; }
  bool falls_back() const override { return false; }
};

}  // namespace

Entry<Strategy> bayesian() {
  return {.help = "Gaussian processes with expected improvement over the operators' options; no fallback.",
          .make = make_as<Bayesian, Strategy>};
}

}  // namespace quasar::tune::strategies
