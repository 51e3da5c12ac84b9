#include "quasar/tune/layer_bias.hpp"

#include <cmath>

#include "quasar/quant/weights.hpp"

namespace quasar::tune {

bool sums_with_products(const quant::NodePlan& plan) {
  return plan.bias && plan.bias->params.type == DataType::int32;
}

std::vector<double> bias_that_stays(const LinearLayer& layer, const Tensor* bias, const quant::NodePlan& plan) {
  if (bias == nullptr) return std::vector<double>(layer.outputs, 0.0);
  if (!plan.bias) return to_doubles(*bias);
  if (const auto& chosen = plan.bias->optimized) return to_doubles(quant::dequantize(chosen->codes, chosen->params));
  return to_doubles(quant::dequantize(quant::quantize(*bias, plan.bias->params), plan.bias->params));
}

double error_left(std::span<const double> held, std::span<const float> wanted) {
  double sum = 0;
  for (size_t o = 0; o < wanted.size(); o++) sum += std::pow(held[o] - static_cast<double>(wanted[o]), 2);
  return sum;
}

AbsorbingBias absorbing_bias(std::span<const float> wanted, const Tensor* bias, const quant::NodePlan& plan,
                             const quant::QuantParams& weight, float input_scale) {
  if (wanted.empty()) return {};
  const auto params = sums_with_products(plan) ? quant::bias_params(weight, *bias, input_scale) : plan.bias->params;
  const Tensor codes = quant::quantize(Tensor::of(bias->shape(), std::vector<float>(wanted.begin(), wanted.end())), params);
  return {quant::Optimized{params, codes}, error_left(to_doubles(quant::dequantize(codes, params)), wanted)};
}

}  // namespace quasar::tune
