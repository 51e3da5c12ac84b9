// The inputs and the output of Concat have one position: concatenating moves codes only.
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class AlignConcat final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (layer.type != "Concat") return {};
    return unequal_positions(layer, network);
  }

  std::string switched_by() const override { return "AlignConcat"; }
};

}  // namespace

Entry<Rule> align_concat() {
  return {"the inputs and the output of Concat have one position", make_as<AlignConcat, Rule>};
}

}  // namespace quasar::quant::rules
