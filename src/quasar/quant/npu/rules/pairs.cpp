// Codes stand between Q/DQ pairs: compilers for processors that shift read no operators that compute on codes by themselves
// (QLinearConv, MatMulNBits), and nothing that looks for scales at run time (DynamicQuantizeLinear).
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class Pairs final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network&) const override {
    if (!layer.own_codes) return {};
    return {{layer.type + " computes on codes, or makes them, by itself; codes must stand between Q/DQ pairs with fixed scales",
             {{"type", layer.type}}}};
  }
};

}  // namespace

Entry<Rule> pairs() {
  return {"codes stand between Q/DQ pairs with fixed scales", make_as<Pairs, Rule>};
}

}  // namespace quasar::quant::rules
