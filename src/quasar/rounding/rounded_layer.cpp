#include "quasar/rounding/rounded_layer.hpp"

#include "quasar/base/hash.hpp"
#include "quasar/rounding/input_scales.hpp"
#include "quasar/rounding/rounding_layers.hpp"

namespace quasar::tune {
namespace {

size_t held_by(const quant::Optimized& chosen) {
  return chosen.codes.bytes().size() + chosen.params.scales.size() * (sizeof(float) + sizeof(int32_t));
}

// Whether a layer's weights are to be the same codes under both plans, of inputs with the same scale, before any is rounded.
bool asks_the_same(const LinearLayer& layer, const quant::Plan& a, const quant::Plan& b) {
  const quant::NodePlan &x = a.nodes.at(layer.node), &y = b.nodes.at(layer.node);
  if (x.form != y.form || !x.weight || !y.weight || x.bias.has_value() != y.bias.has_value()) return false;
  return x.weight->params == y.weight->params && x.weight->limits == y.weight->limits &&
         input_scale(a, layer) == input_scale(b, layer);
}

}  // namespace

RoundedLayer taken_from(const quant::NodePlan& plan, const Tensor* vector, const LayerError& error) {
  RoundedLayer out{.error = error, .weight = plan.weight->optimized, .bias = plan.bias};
  if (vector != nullptr) out.vector = *vector;
  return out;
}

void put_into(quant::NodePlan& plan, Tensor* vector, const RoundedLayer& rounded) {
  plan.weight->optimized = rounded.weight;
  plan.bias = rounded.bias;
  if (vector != nullptr) *vector = *rounded.vector;
}

std::string key_of(const std::string& prefix, const LinearLayer& layer, const quant::NodePlan& plan,
                   const quant::Rounding& rounding, const Tensor* vector) {
  quant::Plan alone;
  alone.nodes[layer.node] = plan;
  alone.rounding = rounding;
  std::string key = prefix + quant::hash_of(alone) + Json(plan.least_weight_scale).dump();
  if (plan.bias && plan.bias->optimized) key += hash_of(plan.bias->optimized->codes.bytes());
  for (const auto& [input, values] : plan.replaced) key += std::to_string(input) + hash_of(values.bytes());
  if (vector != nullptr) key += hash_of(vector->bytes());
  return key;
}

size_t bytes_of(const RoundedLayer& rounded) {
  size_t bytes = sizeof rounded;
  if (rounded.weight) bytes += held_by(*rounded.weight);
  if (rounded.bias && rounded.bias->optimized) bytes += held_by(*rounded.bias->optimized);
  if (rounded.vector) bytes += rounded.vector->bytes().size();
  return bytes;
}

void take_over(quant::Plan& plan, const quant::Plan& rounded, const graph::Model& model) {
  for (const auto& [value, params] : rounded.refined) {
    const auto found = plan.values.find(value);
    if (found != plan.values.end() && found->second == rounded.values.at(value)) plan.refined[value] = params;
  }
  follow_refined_inputs(model, plan);
  const graph::Index index(model);
  for (const LinearLayer& layer : layers_of(model)) {
    const auto to = plan.nodes.find(layer.node);
    const auto from = rounded.nodes.find(layer.node);
    if (to == plan.nodes.end() || from == rounded.nodes.end() || !asks_the_same(layer, plan, rounded)) continue;
    to->second.weight = from->second.weight;
    to->second.bias = from->second.bias;
    const auto behind = vector_of(layer, index, plan), absorbed = vector_of(layer, index, rounded);
    if (behind && absorbed) plan.nodes.at(behind->node).replaced[behind->input] = absorbed->values;
  }
}

}  // namespace quasar::tune
