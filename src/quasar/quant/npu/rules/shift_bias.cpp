// A bias is shifted left by w + i − b bits to its layer's sums: min(0, shift_cut − 16) to 15 bits, and none below 0 before a
// LeakyRelu.
//
// Too few bits: the bias becomes coarser. Too many: it is so large that the weights' last bits do not count, and they become
// coarser; Quark makes the bias finer instead, so that it is clipped.
#include <algorithm>

#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

constexpr int most_bias_shift = 15;

class ShiftBias final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (!applies(layer, network)) return {};
    const int shift = bits(layer, network), fewest = least(layer, network);
    if (shift >= fewest && shift <= most_bias_shift) return {};
    return {{"shift_bias (weight + input - bias position) is " + std::to_string(shift) + ", not in [" + std::to_string(fewest) +
                 ", 15]",
             {{"weight", network.position(layer.weight)},
              {"input", network.position(layer.inputs[0])},
              {"bias", network.position(layer.bias)},
              {"shift_bias", shift},
              {"least", fewest}}}};
  }

  void mend(const Layer& layer, Network& network) const override {
    if (!applies(layer, network)) return;
    const int shift = bits(layer, network);
    if (shift > most_bias_shift) network.move(layer.weight, network.position(layer.weight) - (shift - most_bias_shift));
    if (const int lacking = least(layer, network) - bits(layer, network); lacking > 0)
      network.move(layer.bias, network.position(layer.bias) - lacking);
  }

  std::string switched_by() const override { return "AdjustShiftBias"; }

 private:
  // A bias of 32 bits has the sums' own position.
  static bool applies(const Layer& layer, const Network& network) {
    return network.shifted(layer.weight) && network.shifted(layer.bias) && network.shifted(layer.inputs.at(0)) &&
           network.shifted(layer.output) && network.tensors[*layer.bias].params.type != DataType::int32;
  }
  static int products(const Layer& layer, const Network& network) {
    return network.position(layer.weight) + network.position(layer.inputs[0]);
  }
  static int bits(const Layer& layer, const Network& network) { return products(layer, network) - network.position(layer.bias); }
  static int least(const Layer& layer, const Network& network) {
    if (layer.activation == "LeakyRelu") return 0;
    return std::min(0, products(layer, network) - network.position(layer.output) - 16);
  }
};

}  // namespace

Entry<Rule> shift_bias() {
  return {"min(0, w + i - o - 16) <= w + i - b <= 15 in weighted layers, at least 0 before LeakyRelu", make_as<ShiftBias, Rule>};
}

}  // namespace quasar::quant::rules
