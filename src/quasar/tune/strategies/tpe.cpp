#include "quasar/tune/tuner.hpp"

namespace quasar::tune::strategies {
namespace {

class TpeOptions final : public TuningStrategy {
 public:
  Finding run(const Workbench& bench) const override { return sampled(bench, name(), "tpe"); }
  void traverse(Tuner&) const override {}

 protected:
  std::string name() const override { return "tpe"; }
  bool falls_back() const override { return false; }
};

}  // namespace

Entry<Strategy> tpe() {
  return {.help = "Tree-structured Parzen estimators over the operators' options; no fallback.",
          .make = make_as<TpeOptions, Strategy>};
}

}  // namespace quasar::tune::strategies
