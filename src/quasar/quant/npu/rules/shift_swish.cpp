// x · HardSigmoid(x) is shifted from the sum of both positions to its output's by 0 to 15 bits.
//
// Too few bits: the output becomes coarser. Too many: x does; Quark makes the output finer instead, so that it is clipped.
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

constexpr int most_swish_shift = 15;

class ShiftSwish final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (!applies(layer, network)) return {};
    const int shift = bits(layer, network);
    if (shift >= 0 && shift <= most_swish_shift) return {};
    return {{"shift_swish (sum of the inputs' positions - output position) is " + std::to_string(shift) + ", not in [0, 15]",
             {{"inputs", shift + network.position(layer.output)},
              {"output", network.position(layer.output)},
              {"shift_swish", shift}}}};
  }

  void mend(const Layer& layer, Network& network) const override {
    if (!applies(layer, network)) return;
    const int shift = bits(layer, network);
    if (shift < 0) network.move(layer.output, network.position(layer.output) + shift);
    if (shift > most_swish_shift) {
      const auto& finer =
          network.position(layer.inputs[0]) > network.position(layer.inputs[1]) ? layer.inputs[0] : layer.inputs[1];
      network.move(finer, network.position(finer) - (shift - most_swish_shift));
    }
  }

  std::string switched_by() const override { return "AdjustShiftSwish"; }

 private:
  static bool applies(const Layer& layer, const Network& network) {
    return layer.swish && layer.inputs.size() == 2 && network.shifted(layer.inputs[0]) && network.shifted(layer.inputs[1]) &&
           network.shifted(layer.output);
  }
  static int bits(const Layer& layer, const Network& network) {
    return network.position(layer.inputs[0]) + network.position(layer.inputs[1]) - network.position(layer.output);
  }
};

}  // namespace

Entry<Rule> shift_swish() {
  return {"0 <= sum(i) - o <= 15 for x * HardSigmoid(x)", make_as<ShiftSwish, Rule>};
}

}  // namespace quasar::quant::rules
