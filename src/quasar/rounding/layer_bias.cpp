#include "quasar/rounding/layer_bias.hpp"

#include <cmath>

#include "quasar/quant/codes/weights.hpp"

namespace quasar::tune {
namespace {

double squared_distance(std::span<const double> held, std::span<const float> wanted) {
  double sum = 0;
  for (size_t o = 0; o < wanted.size(); o++) sum += std::pow(held[o] - static_cast<double>(wanted[o]), 2);
  return sum;
}

}  // namespace

LayerBias::LayerBias(const LinearLayer& layer, const LayerContext& context, quant::NodePlan& plan)
    : layer_(layer),
      context_(context),
      plan_(plan),
      values_(constant_of(layer, context.model, layer.bias_input)),
      absorbs_(context.settings.update_bias && ((values_ != nullptr && plan.bias) || context.vector != nullptr)) {}

bool LayerBias::sums_with_products() const {
  return values_ != nullptr && plan_.bias && plan_.bias->params.type == DataType::int32;
}

quant::QuantParams LayerBias::params(const quant::QuantParams& weight) const {
  return sums_with_products() ? quant::bias_params(weight, *values_, context_.input_scale) : plan_.bias->params;
}

std::vector<double> LayerBias::staying() const {
  if (values_ == nullptr) return std::vector<double>(layer_.outputs, 0.0);
  if (!plan_.bias) return to_doubles(*values_);
  if (const auto& chosen = plan_.bias->optimized) return to_doubles(quant::dequantize(chosen->codes, chosen->params));
  return to_doubles(quant::dequantize(quant::quantize(*values_, plan_.bias->params), plan_.bias->params));
}

double LayerBias::error_of_staying(std::span<const float> wanted) const {
  return absorbs_ ? squared_distance(staying(), wanted) : 0;
}

LayerBias::Absorbed LayerBias::absorbing(std::vector<float> wanted, const quant::QuantParams& weight) const {
  if (!absorbs_) return {};
  if (context_.vector != nullptr) return {.codes = {}, .shift = std::move(wanted), .error = 0};
  const quant::QuantParams own = params(weight);
  const Tensor codes = quant::quantize(Tensor::of(values_->shape(), wanted), own);
  return {.codes = quant::Optimized{own, codes},
          .shift = {},
          .error = squared_distance(to_doubles(quant::dequantize(codes, own)), wanted)};
}

// A vector that holds the mean error of the nearest codes belongs to these codes, which the plan says therefore: nobody corrects
// it once more.
void LayerBias::take(const Absorbed& absorbed, const quant::QuantParams& weight) {
  if (!absorbs_) return follow(weight);
  if (context_.vector == nullptr) {
    plan_.bias->optimized = absorbed.codes;
    return;
  }
  std::vector<float> values(context_.vector->as<float>().begin(), context_.vector->as<float>().end());
  for (size_t o = 0; o < values.size(); o++) values[o] += absorbed.shift[o];
  *context_.vector = Tensor::of(context_.vector->shape(), values);
  if (plan_.weight->optimized) return;
  const Tensor& weights = *constant_of(layer_, context_.model, layer_.weight_input);
  plan_.weight->optimized = quant::Optimized{weight, quant::quantize_within(weights, weight, plan_.weight->limits)};
}

void LayerBias::follow(const quant::QuantParams& weight) {
  if (!sums_with_products() || weight == plan_.weight->params) return;
  const quant::QuantParams own = params(weight);
  plan_.bias->optimized = quant::Optimized{own, quant::quantize(*values_, own)};
}

bool LayerBias::fits(double factor) const {
  if (!sums_with_products()) return true;
  const auto scales = params(plan_.weight->params).scales;
  const auto values = values_->as<float>();
  for (size_t i = 0; i < values.size(); i++) {
    const auto scale = static_cast<double>(scales[scales.size() == 1 ? 0 : i]);
    if (std::abs(static_cast<double>(values[i])) > factor * scale * (1 << 30)) return factor == 1;
  }
  return true;
}

}  // namespace quasar::tune
