// How one layer of a plan is rounded: what is the same for every layer, and what the layer brings.
#pragma once

#include <cstddef>

#include "quasar/graph/model.hpp"
#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/codes/rounding_options.hpp"

namespace quasar::tune {

struct Moments;

struct LayerContext {
  const graph::Model& model;
  const quant::LayerSettings& settings;
  const quant::RoundingMethod& method;
  size_t threads = 0;
  float input_scale = 0;  // of the layer's input as it stands in the quantized model; 0: float
  // The vector that a sum behind a matrix product adds in float: what it takes up of the mean error is added to it. nullptr:
  // none.
  Tensor* vector = nullptr;
  // Of the layers before this one that read the same weights, which are chosen for all of them; nullptr: nobody else does.
  const Moments* others = nullptr;
};

}  // namespace quasar::tune
