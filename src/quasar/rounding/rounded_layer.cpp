#include "quasar/rounding/rounded_layer.hpp"

#include "quasar/base/hash.hpp"

namespace quasar::tune {
namespace {

size_t held_by(const quant::Optimized& chosen) {
  return chosen.codes.bytes().size() + chosen.params.scales.size() * (sizeof(float) + sizeof(int32_t));
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

}  // namespace quasar::tune
