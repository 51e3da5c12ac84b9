// What rounding chose for one layer, apart from any plan: a later trial in which the layer and all before it are the same takes
// it as it is.
#pragma once

#include <optional>
#include <string>

#include "quasar/quant/plan.hpp"
#include "quasar/rounding/layer_rounding.hpp"

namespace quasar::tune {

struct RoundedLayer {
  LayerError error;
  std::optional<quant::Optimized> weight = {};   // nullopt: the nearest codes
  std::optional<quant::ConstantPlan> bias = {};  // nullopt: it has none, or it stays in float
  std::optional<Tensor> vector = {};             // that a sum behind the layer adds
};

// `vector`: as in LayerContext, after the layer was rounded.
RoundedLayer taken_from(const quant::NodePlan& plan, const Tensor* vector, const LayerError& error);
void put_into(quant::NodePlan& plan, Tensor* vector, const RoundedLayer& rounded);

// Equal for layers that come out the same. `prefix`: hash of all that the layer's inputs depend on; `plan`: before it is rounded.
std::string key_of(const std::string& prefix, const LinearLayer& layer, const quant::NodePlan& plan,
                   const quant::Rounding& rounding, const Tensor* vector);

size_t bytes_of(const RoundedLayer& rounded);

// Rounder::take_over(); `model`: with open bodies, where it has any.
void take_over(quant::Plan& plan, const quant::Plan& rounded, const graph::Model& model);

}  // namespace quasar::tune
