#include "quasar/quant/npu/positions.hpp"

#include <algorithm>
#include <cmath>

namespace quasar::quant {

std::optional<int> position_of(float scale) {
  int exponent = 0;
  if (!std::isfinite(scale) || std::frexp(scale, &exponent) != 0.5F) return std::nullopt;
  return 1 - exponent;
}

float scale_at(int position) {
  return std::ldexp(1.0F, -position);
}

std::vector<Fault> unequal_positions(const Layer& layer, const Network& network) {
  if (!network.shifted(layer.output)) return {};
  const int output = network.position(layer.output);
  std::vector<int> inputs;
  for (const auto& input : layer.inputs) {
    if (network.shifted(input)) inputs.push_back(network.position(input));
  }
  if (std::ranges::all_of(inputs, [&](int input) { return input == output; })) return {};
  const Json list(inputs);
  return {{"input positions " + list.dump() + ", output position " + std::to_string(output) + ", but they must be the same",
           {{"inputs", list}, {"output", output}}}};
}

}  // namespace quasar::quant
