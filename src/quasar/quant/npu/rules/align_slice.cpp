// The input and the outputs of Slice and Split have one position.
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class AlignSlice final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (layer.type != "Slice" && layer.type != "Split") return {};
    return unequal_positions(layer, network);
  }

  std::string switched_by() const override { return "AlignSlice"; }
};

}  // namespace

Entry<Rule> align_slice() {
  return {"the input and the outputs of Slice and Split have one position", make_as<AlignSlice, Rule>};
}

}  // namespace quasar::quant::rules
