#include "quasar/quant/npu/zero_tensors.hpp"

#include <algorithm>
#include <limits>

namespace quasar::quant {
namespace {

constexpr int middle_cut = 8, most_apart = 7;

bool zeros(std::optional<size_t> tensor, const Network& network) {
  return tensor && network.tensors[*tensor].zeros;
}

bool known(std::optional<size_t> tensor, const Network& network) {
  return network.shifted(tensor) && !network.tensors[*tensor].zeros;
}

bool is_weighted(const Layer& layer, const Network& network) {
  return network.shifted(layer.weight) && network.shifted(layer.inputs.front()) && network.shifted(layer.output);
}

void fit_values(const Layer& layer, Network& network) {
  if (!is_weighted(layer, network) || !known(layer.weight, network)) return;
  const int weight = network.position(layer.weight);
  const auto& input = layer.inputs.front();
  if (zeros(layer.output, network) && known(input, network))
    network.move(layer.output, weight + network.position(input) - middle_cut);
  if (zeros(input, network) && known(layer.output, network))
    network.move(input, network.position(layer.output) - weight + middle_cut);
}

void fit_sides(const Layer& layer, Network& network) {
  if (layer.type != "Add" && layer.type != "Sub") return;
  int coarsest = std::numeric_limits<int>::max();
  for (const auto& input : layer.inputs) {
    if (known(input, network)) coarsest = std::min(coarsest, network.position(input));
  }
  if (coarsest == std::numeric_limits<int>::max()) return;
  for (const auto& input : layer.inputs) {
    if (zeros(input, network)) network.move(input, std::clamp(network.position(input), coarsest, coarsest + most_apart));
  }
}

void fit_constants(const Layer& layer, Network& network) {
  if (!is_weighted(layer, network)) return;
  const int input = network.position(layer.inputs.front()), output = network.position(layer.output);
  if (zeros(layer.weight, network)) network.move(layer.weight, output - input + middle_cut);
  if (zeros(layer.bias, network)) network.move(layer.bias, std::min(output + 1, network.position(layer.weight) + input));
}

}  // namespace

void fit_zeros(Network& network) {
  for (const auto& layer : network.layers) fit_values(layer, network);
  for (const auto& layer : network.layers) fit_sides(layer, network);
  for (const auto& layer : network.layers) fit_constants(layer, network);
}

}  // namespace quasar::quant
