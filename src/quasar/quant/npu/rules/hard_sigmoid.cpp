// HardSigmoid with alpha 1/6 and beta 1/2 reads positions 0 to 15, writes 7 or finer, and shifts by 14 + i − o bits, 0 to 31.
//
// An input coarser than 0 becomes finer: what is clipped then lies far beyond ±3, where the function is constant. An output that
// Concat joins with wider ones keeps a scale of its own, and a second pair rescales it for the Concat; where it shares a scale
// with wider values in another way it keeps that, or theirs would be clipped: a violation remains.
#include <algorithm>
#include <cmath>

#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class HardSigmoid final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (!applies(layer, network)) return {};
    const int input = network.position(layer.inputs[0]), output = network.position(layer.output);
    const Json figures{{"input", input}, {"output", output}, {"shift_sigmoid", 14 + input - output}};
    std::vector<Fault> faults;
    if (input < 0 || input > 15) faults.push_back({"input position is " + std::to_string(input) + ", not in [0, 15]", figures});
    if (output < 7) faults.push_back({"output position is " + std::to_string(output) + ", less than 7", figures});
    if (14 + input - output < 0 || 14 + input - output > 31)
      faults.push_back(
          {"shift_sigmoid (14 + input - output position) is " + std::to_string(14 + input - output) + ", not in [0, 31]",
           figures});
    return faults;
  }

  void mend(const Layer& layer, Network& network) const override {
    if (!applies(layer, network)) return;
    const int input = std::clamp(network.position(layer.inputs[0]), 0, 15);
    network.move(layer.inputs[0], input);
    const int output = network.position(layer.output);
    network.move(layer.output, std::clamp(output, network.tensors[*layer.output].shared ? std::min(output, 7) : 7, 14 + input));
  }

  std::string switched_by() const override { return "AdjustHardSigmoid"; }

 private:
  static bool applies(const Layer& layer, const Network& network) {
    return layer.type == "HardSigmoid" && std::abs(layer.alpha - 1.0F / 6) < 1e-5F && std::abs(layer.beta - 0.5F) < 1e-5F &&
           network.shifted(layer.inputs.at(0)) && network.shifted(layer.output);
  }
};

}  // namespace

Entry<Rule> hard_sigmoid() {
  return {"0 <= i <= 15, o >= 7 and 0 <= 14 + i - o <= 31 for HardSigmoid", make_as<HardSigmoid, Rule>};
}

}  // namespace quasar::quant::rules
