// The sum of a weighted layer is shifted right by w + i − o bits, from its products' position to its output's: 0 to 16 bits.
//
// Too many bits: weights become coarser. Too few: the output is finer than the products and becomes coarser, which loses nothing;
// Quark makes the weights finer instead, so that they are clipped.
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

constexpr int most_cut = 16;

class ShiftCut final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (!applies(layer, network)) return {};
    const int cut = shift(layer, network);
    if (cut >= 0 && cut <= most_cut) return {};
    return {{"shift_cut (weight + input - output position) is " + std::to_string(cut) + ", not in [0, 16]",
             {{"weight", network.position(layer.weight)},
              {"input", network.position(layer.inputs[0])},
              {"output", network.position(layer.output)},
              {"shift_cut", cut}}}};
  }

  void mend(const Layer& layer, Network& network) const override {
    if (!applies(layer, network)) return;
    const int cut = shift(layer, network);
    if (cut > most_cut) network.move(layer.weight, network.position(layer.weight) - (cut - most_cut));
    if (cut < 0) network.move(layer.output, network.position(layer.output) + cut);
  }

  std::string switched_by() const override { return "AdjustShiftCut"; }

 private:
  static bool applies(const Layer& layer, const Network& network) {
    return network.shifted(layer.weight) && network.shifted(layer.inputs.at(0)) && network.shifted(layer.output);
  }
  static int shift(const Layer& layer, const Network& network) {
    return network.position(layer.weight) + network.position(layer.inputs[0]) - network.position(layer.output);
  }
};

}  // namespace

Entry<Rule> shift_cut() {
  return {"0 <= w + i - o <= 16 in weighted layers", make_as<ShiftCut, Rule>};
}

}  // namespace quasar::quant::rules
