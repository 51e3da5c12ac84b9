#include "quasar/rounding/input_scales.hpp"

#include "quasar/quant/codes/weights.hpp"

namespace quasar::tune {

const quant::QuantParams* conversion_of(const quant::Plan& plan, const std::string& value, const std::string& node) {
  const auto readers = plan.conversions.find(value);
  if (readers == plan.conversions.end()) return nullptr;
  const auto found = readers->second.find(node);
  return found == readers->second.end() ? nullptr : &found->second;
}

float input_scale(const quant::Plan& plan, const LinearLayer& layer) {
  if (const auto* own = conversion_of(plan, layer.input, layer.node)) return own->scales.front();
  return plan.values.contains(layer.input) ? plan.params(layer.input).scales.front() : 0.0F;
}

void follow_refined_inputs(const graph::Model& model, quant::Plan& plan) {
  for (const auto& node : model.nodes) {
    const auto found = plan.nodes.find(node.name);
    if (found == plan.nodes.end() || !found->second.bias || !found->second.weight) continue;
    if (found->second.bias->params.type != DataType::int32) continue;  // it has a scale of its own
    const auto refined = plan.refined.find(node.inputs[0]);
    if (refined == plan.refined.end() || conversion_of(plan, node.inputs[0], node.name) != nullptr) continue;
    quant::ConstantPlan& bias = *found->second.bias;
    const Tensor& values = *model.initializer(node.inputs[bias.input]);
    const auto params = quant::bias_params(found->second.weight->params, values, refined->second.scales.front());
    bias.optimized = quant::Optimized{params, quant::quantize(values, params)};
  }
}

}  // namespace quasar::tune
