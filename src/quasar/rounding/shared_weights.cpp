#include "quasar/rounding/shared_weights.hpp"

#include <algorithm>

namespace quasar::tune {
namespace {

std::string constant_name(const graph::Node& node, std::optional<size_t> input) {
  return input && *input < node.inputs.size() ? node.inputs[*input] : "";
}

bool has_one_shape(const LinearLayer& a, const LinearLayer& b) {
  return a.groups == b.groups && a.outputs == b.outputs && a.inputs == b.inputs && a.columns_first == b.columns_first &&
         a.convolution == b.convolution && a.transposed == b.transposed && a.kernel == b.kernel;
}

bool has_one_plan(const quant::NodePlan& a, const quant::NodePlan& b) {
  return a.form == b.form && a.weight->params == b.weight->params && a.weight->limits == b.weight->limits &&
         a.bias.has_value() == b.bias.has_value() && a.least_weight_scale == b.least_weight_scale;
}

}  // namespace

void SharedWeight::add(const LinearLayer& layer, const Moments& seen) {
  if (!moments) moments.emplace(layer);
  moments->add(seen);
}

std::map<size_t, std::shared_ptr<SharedWeight>> shared_weights(const std::vector<LinearLayer>& layers,
                                                               std::span<const size_t> chosen, const graph::Model& model,
                                                               const quant::Plan& plan, size_t most_inputs) {
  const graph::Index index(model);
  std::map<std::string, std::vector<std::shared_ptr<SharedWeight>>> by_constant;
  for (const size_t i : chosen) {
    const LinearLayer& layer = layers[i];
    if (layer.inputs > most_inputs) continue;
    const graph::Node& node = *index.node(layer.node);
    auto& known = by_constant[constant_name(node, layer.weight_input)];
    const auto same = std::ranges::find_if(known, [&](const auto& shared) {
      const LinearLayer& first = layers[shared->layers.front()];
      return has_one_shape(first, layer) && has_one_plan(plan.nodes.at(first.node), plan.nodes.at(layer.node)) &&
             constant_name(*index.node(first.node), first.bias_input) == constant_name(node, layer.bias_input);
    });
    if (same == known.end()) {
      known.push_back(std::make_shared<SharedWeight>(SharedWeight{{i}}));
    } else {
      (*same)->layers.push_back(i);
    }
  }
  std::map<size_t, std::shared_ptr<SharedWeight>> out;
  for (const auto& [name, all] : by_constant) {
    for (const auto& shared : all) {
      if (shared->layers.size() < 2) continue;
      for (const size_t layer : shared->layers) out[layer] = shared;
    }
  }
  return out;
}

quant::LayerSettings settings_for_shared(quant::LayerSettings settings, const LinearLayer& layer) {
  settings.update_bias = false;
  if (layer.bias_input) settings.scale_search = false;
  return settings;
}

void give_to_all(const SharedWeight& shared, const std::vector<LinearLayer>& layers, quant::Plan& plan, RoundingReport& report) {
  const LayerError error = report.layers.back();
  const auto& chosen = plan.nodes.at(error.node).weight->optimized;
  for (const size_t i : shared.layers) {
    if (layers[i].node == error.node) continue;
    plan.nodes.at(layers[i].node).weight->optimized = chosen;
    LayerError other = error;
    other.node = layers[i].node;
    report.layers.push_back(std::move(other));
  }
}

}  // namespace quasar::tune
