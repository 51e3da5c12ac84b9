// Biases are quantized too: int8, zero point 0, a power-of-two scale of their own.
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class Bias final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (layer.float_bias) return {{"the bias is float, not int8"}};
    if (!layer.bias) return {};
    const Fixed& bias = network.tensors[*layer.bias];
    const Json figures{{"tensor", bias.name}, {"type", name_of(bias.params.type)}};
    if (bias.params.type != DataType::int8)
      return {{"the bias has codes of type " + std::string(name_of(bias.params.type)) + ", not int8", figures}};
    if (bias.params.zero_points.front() != 0) return {{"the bias has a zero point", figures}};
    if (!bias.shifted) return {{"the bias has a scale that is no power of two", figures}};
    return {};
  }
};

}  // namespace

Entry<Rule> bias() {
  return {"biases are int8 with a power-of-two scale of their own", make_as<Bias, Rule>};
}

}  // namespace quasar::quant::rules
