// The input and the output of Pad have one position.
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class AlignPad final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (layer.type != "Pad") return {};
    return unequal_positions(layer, network);
  }

  std::string switched_by() const override { return ""; }
};

}  // namespace

Entry<Rule> align_pad() {
  return {"the input and the output of Pad have one position", make_as<AlignPad, Rule>};
}

}  // namespace quasar::quant::rules
