// What becomes of a layer's bias when its weights are rounded: it stays, or takes up the mean error of the products.
//
// A matrix product has no bias of its own; the vector that a sum behind it adds in float is one in all but name.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "quasar/quant/plan.hpp"
#include "quasar/rounding/layer_context.hpp"
#include "quasar/rounding/linear_layer.hpp"

namespace quasar::tune {

class LayerBias {
 public:
  // What takes up a mean error: codes of the bias, or nothing but the shift itself of a vector in float.
  struct Absorbed {
    std::optional<quant::Optimized> codes = {};
    std::vector<float> shift = {};  // [outputs]
    double error = 0;               // Σ_o (bias − wanted bias)²: what is left of the mean error
  };

  LayerBias(const LinearLayer& layer, const LayerContext& context, quant::NodePlan& plan);

  // Whether the bias may change (update_bias); where it does not, outputs are compared with it as it is.
  bool absorbs() const { return absorbs_; }

  // The values that the quantized model holds when the bias stays [outputs]; zeros where the layer has none.
  std::vector<double> staying() const;

  // Σ_o (bias − wanted_o)² when it stays; 0 where it does not absorb.
  double error_of_staying(std::span<const float> wanted) const;

  // The `wanted` biases [outputs] in the values that the bias's type can hold. `weight`: the weights' parameters, whose scales
  // those of a 32-bit bias follow. Nothing where it does not absorb.
  Absorbed absorbing(std::vector<float> wanted, const quant::QuantParams& weight) const;

  // Puts it into the plan, or into the sum's vector (context.vector); a 32-bit bias that stays gets the codes that the scales of
  // `weight` ask for. After the plan has its weights.
  void take(const Absorbed& absorbed, const quant::QuantParams& weight);

  // Whether the bias keeps half of int32 for the sum when the weights' scales shrink by a factor: its codes grow alike.
  bool fits(double factor) const;

 private:
  void follow(const quant::QuantParams& weight);
  bool sums_with_products() const;  // 32 bits: the scale of the products
  quant::QuantParams params(const quant::QuantParams& weight) const;

  const LinearLayer& layer_;
  const LayerContext& context_;
  quant::NodePlan& plan_;
  const Tensor* values_;  // of the float model; nullptr: none
  bool absorbs_;
};

}  // namespace quasar::tune
