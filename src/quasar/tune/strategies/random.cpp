#include "quasar/tune/tuner.hpp"

namespace quasar::tune::strategies {
namespace {

class RandomOptions final : public TuningStrategy {
 public:
  Finding run(const Workbench& bench) const override { return sampled(bench, name(), "random"); }
  void traverse(Tuner&) const override {}

 protected:
  std::string name() const override { return "random"; }
  bool falls_back() const override { return false; }
};

}  // namespace

Entry<Strategy> random() {
  return {.help = "Random configurations of the operators' options, none twice; no fallback.",
          .make = make_as<RandomOptions, Strategy>};
}

}  // namespace quasar::tune::strategies
