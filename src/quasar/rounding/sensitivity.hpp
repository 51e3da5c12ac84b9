// What rounding a layer's weights does to its output by itself, from the layer's moments: no model runs.
#pragma once

#include <functional>

#include "quasar/quant/plan.hpp"
#include "quasar/rounding/layer_moments.hpp"

namespace quasar::tune {

// Σ_o mean ((Δ_o x)²) for changes Δ [outputs, inputs] of the weights; `centred`: without the mean of Δx, which a bias takes up.
// Does not depend on the number of threads.
double error_of_change(const LinearLayer& layer, const Moments& moments,
                       const std::function<double(size_t output, size_t input)>& change, bool centred, size_t threads);

// Σ_o of the outputs' variance; NaN where they do not vary.
double variance_of_outputs(const Moments& moments);

// error_of_change for nearest rounding of these weights, over the outputs' variance (NaN where they do not vary).
double rounding_error(const LinearLayer& layer, const Moments& moments, const Tensor& weights, const quant::QuantParams& params,
                      bool centred, size_t threads);

}  // namespace quasar::tune
