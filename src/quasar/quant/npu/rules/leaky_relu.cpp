// The slope of LeakyRelu is a number of 256ths: 26/256 for 0.1.
#include <cmath>

#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class LeakyRelu final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network&) const override {
    if (layer.type != "LeakyRelu" && layer.activation != "LeakyRelu") return {};
    const float steps = layer.alpha * 256;
    if (std::abs(steps - std::nearbyint(steps)) < 1e-3F) return {};
    return {{"the slope " + Json(layer.alpha).dump() + " of LeakyRelu is no number of 256ths", {{"alpha", layer.alpha}}}};
  }
  std::string switched_by() const override { return "ConvertLeakyReluToDPUVersion"; }
};

}  // namespace

Entry<Rule> leaky_relu() {
  return {"the slope of LeakyRelu is a number of 256ths", make_as<LeakyRelu, Rule>};
}

}  // namespace quasar::quant::rules
