#include "quasar/quant/promotion.hpp"

#include <algorithm>

#include "quasar/graph/lookup.hpp"
#include "quasar/quant/channels/weight_noise.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::quant {
namespace {

// Where the pair behind a layer stands: on its output, or behind the activation or sum that is fused with it.
double output_noise(const graph::Node& node, const graph::Index& index, const stats::Statistics& seen, const Plan& plan) {
  std::string value = node.outputs[0];
  while (!plan.values.contains(value)) {
    const graph::Node* reader = graph::sole_reader(value, index);
    if (reader == nullptr) return 0;
    value = reader->outputs[0];
  }
  const auto stats = seen.find(value);
  if (stats == seen.end() || stats->second.mean_square <= 0) return 0;
  const double scale = plan.values.at(value).scales.front();
  return scale * scale / 12 / stats->second.mean_square;
}

}  // namespace

std::vector<Sensitivity> sensitivities(const graph::Model& model, const stats::Statistics& seen, const Plan& plan) {
  const graph::Index index(model);
  std::vector<Sensitivity> out;
  for (const auto& node : model.nodes) {
    const auto planned = plan.nodes.find(node.name);
    if (planned == plan.nodes.end() || !planned->second.weight) continue;
    const ConstantPlan& weight = *planned->second.weight;
    const auto layer = channel_layer(node, model);
    const double noise = weight_noise(*model.initializer(node.inputs[weight.input]), weight.params, layer ? &*layer : nullptr);
    out.push_back({node.name, noise, output_noise(node, index, seen, plan)});
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &Sensitivity::total);
  return out;
}

std::vector<std::string> promoted_layers(const graph::Model& model, const stats::Statistics& seen, const Plan& plan,
                                         const MixedPrecision& mixed) {
  const graph::Index index(model);
  std::vector<Sensitivity> layers = sensitivities(model, seen, plan);
  std::erase_if(layers, [&](const Sensitivity& layer) {
    return std::ranges::find(mixed.op_types, index.node(layer.node)->op_type) == mixed.op_types.end();
  });
  double all = 0;
  for (const auto& layer : layers) all += layer.total();
  std::vector<std::string> out;
  double left = all;
  for (const auto& layer : layers) {
    if (left <= mixed.noise_share * all || out.size() == mixed.most.value_or(layers.size())) break;
    out.push_back(layer.node);
    left -= layer.total();
  }
  return out;
}

}  // namespace quasar::quant
