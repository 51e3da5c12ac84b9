// An activation runs in the same operation as the layer that it alone reads: no Q/DQ between them.
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class Fusion final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network&) const override {
    if (!layer.pair_before_activation) return {};
    return {{"a Q/DQ pair stands between it and the activation that could run with it"}};
  }
  std::string switched_by() const override { return "RemoveQDQConvRelu"; }
};

}  // namespace

Entry<Rule> fusion() {
  return {"no pair between a layer and the activation that alone reads it", make_as<Fusion, Rule>};
}

}  // namespace quasar::quant::rules
