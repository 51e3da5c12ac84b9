// A sum is shifted from its inputs' coarsest position to its output's by −7 to 25 bits, a product from the sum of both positions
// by 0 to 32 bits.
//
// Too few bits: the output becomes coarser. Too many: the inputs do; Quark makes the output finer instead, so that it is clipped.
#include <algorithm>

#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

struct Limits {
  int least, most;
};

class ShiftWrite final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (!applies(layer, network)) return {};
    const auto [least, most] = limits(layer);
    const int shift = from(layer, network) - network.position(layer.output);
    if (shift >= least && shift <= most) return {};
    return {{"shift_write (" + std::string(layer.type == "Mul" ? "sum" : "least") +
                 " of the inputs' positions - output position) is " + std::to_string(shift) + ", not in [" +
                 std::to_string(least) + ", " + std::to_string(most) + "]",
             {{"inputs", from(layer, network)}, {"output", network.position(layer.output)}, {"shift_write", shift}}}};
  }

  void mend(const Layer& layer, Network& network) const override {
    if (!applies(layer, network)) return;
    const auto [least, most] = limits(layer);
    const int shift = from(layer, network) - network.position(layer.output);
    if (shift < least) network.move(layer.output, network.position(layer.output) - (least - shift));
    if (shift > most) {
      const auto finest = std::ranges::max_element(layer.inputs, {}, [&](const auto& input) { return network.position(input); });
      const auto coarsest =
          std::ranges::min_element(layer.inputs, {}, [&](const auto& input) { return network.position(input); });
      const auto& input = layer.type == "Mul" ? *finest : *coarsest;
      network.move(input, network.position(input) - (shift - most));
    }
  }

  std::string switched_by() const override { return "AdjustShiftWrite"; }

 private:
  static bool applies(const Layer& layer, const Network& network) {
    if ((layer.type != "Add" && layer.type != "Mul") || !network.shifted(layer.output)) return false;
    return std::ranges::all_of(layer.inputs, [&](const auto& input) { return network.shifted(input); });
  }
  static Limits limits(const Layer& layer) { return layer.type == "Mul" ? Limits{0, 32} : Limits{-7, 25}; }
  static int from(const Layer& layer, const Network& network) {
    int sum = 0, least = network.position(layer.inputs[0]);
    for (const auto& input : layer.inputs) {
      sum += network.position(input);
      least = std::min(least, network.position(input));
    }
    return layer.type == "Mul" ? sum : least;
  }
};

}  // namespace

Entry<Rule> shift_write() {
  return {"Add: -7 <= min(i) - o <= 25; Mul: 0 <= sum(i) - o <= 32", make_as<ShiftWrite, Rule>};
}

}  // namespace quasar::quant::rules
