// There is no Sigmoid; HardSigmoid with alpha 1/6 and beta 1/2 stands for it. One with other parameters is left in float.
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class Sigmoid final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network&) const override {
    if (layer.type == "Sigmoid") return {{"Sigmoid is not executed; HardSigmoid stands for it"}};
    return {};
  }
  std::string switched_by() const override { return "ConvertSigmoidToHardSigmoid"; }
};

}  // namespace

Entry<Rule> sigmoid() {
  return {"HardSigmoid with alpha 1/6 stands for Sigmoid", make_as<Sigmoid, Rule>};
}

}  // namespace quasar::quant::rules
