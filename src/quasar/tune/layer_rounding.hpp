// One layer of a plan: its problem is posed, weight scales and damping are chosen, the method solves it, the plan gets the codes.
#pragma once

#include "quasar/quant/plan.hpp"
#include "quasar/quant/rounding.hpp"
#include "quasar/quant/rounding_options.hpp"
#include "quasar/tune/layer_moments.hpp"
#include "quasar/tune/linear_layer.hpp"

namespace quasar::tune {

// One layer's relative output error: mean squared difference from the float output over its variance (NaN: it does not vary).
struct LayerError {
  std::string node;
  double before = 0, after = 0;  // nearest rounding, bias included; what was chosen
  // What nearest rounding of this layer's weights costs by itself: mean |(Ŵ − W) x̂|² over the outputs' variance.
  double alone = 0;
};

struct LayerContext {
  const graph::Model& model;
  const quant::LayerSettings& settings;
  const quant::RoundingMethod& method;
  size_t threads = 0;
  float input_scale = 0;  // of the layer's input as it stands in the quantized model; 0: float
  // The vector that a sum behind a matrix product adds in float: what it takes up of the mean error is added to it. nullptr:
  // none.
  Tensor* vector = nullptr;
};

// Puts codes, scales and a bias into `plan` where they lower the error; otherwise nearest rounding stays. Does not depend on the
// number of threads.
LayerError round_layer(const LinearLayer& layer, const Moments& moments, const LayerContext& context, quant::NodePlan& plan);

}  // namespace quasar::tune
