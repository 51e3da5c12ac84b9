// All codes are 8 bits on a symmetric grid with one power-of-two scale per tensor. int8 with zero point 0; of activations also
// uint8 with zero point 128, which is the same grid stored otherwise.
#include <algorithm>

#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

class OneGrid final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    std::vector<Fault> faults;
    for (const auto& input : layer.inputs) look(input, true, network, faults);
    look(layer.output, true, network, faults);
    look(layer.weight, false, network, faults);
    if (layer.bias && network.tensors[*layer.bias].params.scales.size() != 1)
      faults.push_back(fault(network.tensors[*layer.bias], "has several scales"));
    return faults;
  }

 private:
  static Fault fault(const Fixed& tensor, const std::string& what) {
    return {"'" + tensor.name + "' " + what, {{"tensor", tensor.name}, {"type", name_of(tensor.params.type)}}};
  }

  static void look(const std::optional<size_t>& index, bool activation, const Network& network, std::vector<Fault>& faults) {
    if (!index) return;
    const Fixed& tensor = network.tensors[*index];
    const QuantParams& params = tensor.params;
    const bool moved = activation && params.type == DataType::uint8;
    if (params.type != DataType::int8 && !moved) {
      faults.push_back(fault(tensor, "has codes of type " + std::string(name_of(params.type)) + ", not int8"));
    } else if (const int32_t zero = moved ? 128 : 0;
               std::ranges::any_of(params.zero_points, [&](int32_t point) { return point != zero; })) {
      faults.push_back(
          fault(tensor, "has zero point " + std::to_string(params.zero_points.front()) + ", not " + std::to_string(zero)));
    }
    if (params.scales.size() != 1) {
      faults.push_back(fault(tensor, "has " + std::to_string(params.scales.size()) + " scales, not one"));
    } else if (!tensor.shifted) {
      Fault wrong = fault(tensor, "has a scale that is no power of two");
      wrong.figures["scale"] = params.scales.front();
      faults.push_back(wrong);
    }
  }
};

}  // namespace

Entry<Rule> grid() {
  return {"8 bits, symmetric, one power-of-two scale per tensor", make_as<OneGrid, Rule>};
}

}  // namespace quasar::quant::rules
