// What becomes of a layer's bias when its weights are rounded: it stays, or takes up the mean error of the products.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "quasar/quant/plan.hpp"
#include "quasar/tune/linear_layer.hpp"

namespace quasar::tune {

// A bias of 32 bits has the scale of the products; narrower ones have their own.
bool sums_with_products(const quant::NodePlan& plan);

// The layer's biases in the values that the quantized model will hold when they stay; zeros where it has none.
std::vector<double> bias_that_stays(const LinearLayer& layer, const Tensor* bias, const quant::NodePlan& plan);

// Σ_o (held_o − wanted_o)²: what biases `held` leave of the mean error that `wanted` would take up; 0 without any wanted.
double error_left(std::span<const double> held, std::span<const float> wanted);

struct AbsorbingBias {
  std::optional<quant::Optimized> codes = {};
  double error = 0;  // error_left
};

// The `wanted` biases [outputs] in the values that the bias's type can hold; nothing without any wanted. `weight`: the weights'
// parameters, whose scales and `input_scale` are those of a bias that sums with the products.
AbsorbingBias absorbing_bias(std::span<const float> wanted, const Tensor* bias, const quant::NodePlan& plan,
                             const quant::QuantParams& weight, float input_scale);

}  // namespace quasar::tune
