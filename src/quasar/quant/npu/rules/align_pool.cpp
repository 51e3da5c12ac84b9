// The input and the output of pooling have one position: its processors have no shift there.
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class AlignPool final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (!layer.type.ends_with("Pool")) return {};
    return unequal_positions(layer, network);
  }

  std::string switched_by() const override { return "AlignPool"; }
};

}  // namespace

Entry<Rule> align_pool() {
  return {"the input and the output of pooling have one position", make_as<AlignPool, Rule>};
}

}  // namespace quasar::quant::rules
