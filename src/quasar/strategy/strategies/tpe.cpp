#include "quasar/strategy/tuner.hpp"

namespace quasar::tune::strategies {
namespace {

class TpeOptions final : public SampledStrategy {
 protected:
  std::string name() const override { return "tpe"; }
  std::string sampler() const override { return "tpe"; }
  bool falls_back() const override { return false; }
};

}  // namespace

Entry<Strategy> tpe() {
  return {.help = "Tree-structured Parzen estimators over the operators' options; no fallback.",
          .make = make_as<TpeOptions, Strategy>};
}

}  // namespace quasar::tune::strategies
