// There is no Sigmoid; HardSigmoid with alpha 1/6 and beta 1/2 stands for it.
#include <cmath>

#include "quasar/quant/positions.hpp"

namespace quasar::quant::rules {
namespace {

class Sigmoid final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network&) const override {
    if (layer.type == "Sigmoid") return {{"Sigmoid is not executed; HardSigmoid stands for it"}};
    if (layer.type != "HardSigmoid" || (std::abs(layer.alpha - 1.0F / 6) < 1e-5F && std::abs(layer.beta - 0.5F) < 1e-5F))
      return {};
    return {{"HardSigmoid with other parameters than 1/6 and 1/2", {{"alpha", layer.alpha}, {"beta", layer.beta}}}};
  }
  std::string switched_by() const override { return "ConvertSigmoidToHardSigmoid"; }
};

}  // namespace

Entry<Rule> sigmoid() {
  return {"HardSigmoid with alpha 1/6 stands for Sigmoid", make_as<Sigmoid, Rule>};
}

}  // namespace quasar::quant::rules
