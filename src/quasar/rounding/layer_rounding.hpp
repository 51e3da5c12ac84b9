// One layer of a plan: its problem is posed, weight scales and damping are chosen, the method solves it, the plan gets the codes.
#pragma once

#include "quasar/quant/plan.hpp"
#include "quasar/rounding/layer_context.hpp"
#include "quasar/rounding/layer_moments.hpp"
#include "quasar/rounding/linear_layer.hpp"

namespace quasar::tune {

// One layer's relative output error: mean squared difference from the float output over its variance (NaN: it does not vary).
struct LayerError {
  std::string node;
  double before = 0, after = 0;  // nearest rounding, bias included; what was chosen
  // What nearest rounding of this layer's weights costs by itself: mean |(Ŵ − W) x̂|² over the outputs' variance.
  double alone = 0;
};

// Puts codes, scales and a bias into `plan` where they lower the error; otherwise nearest rounding stays. Does not depend on the
// number of threads.
LayerError round_layer(const LinearLayer& layer, const Moments& moments, const LayerContext& context, quant::NodePlan& plan);

}  // namespace quasar::tune
