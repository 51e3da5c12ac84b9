// The layers of a model whose weights' codes can be chosen, and those whose cannot.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/quant/plan.hpp"
#include "quasar/quant/vector_behind.hpp"
#include "quasar/rounding/linear_layer.hpp"

namespace quasar::tune {

// In the model's order.
std::vector<LinearLayer> layers_of(const graph::Model& model);

struct Chosen {
  std::vector<size_t> layers;      // indices
  std::vector<std::string> stops;  // their nodes, for a frontier
};

// The layers with quantized weights for which `wanted` holds.
Chosen chosen_of(const std::vector<LinearLayer>& layers, const quant::Plan& plan,
                 const std::function<bool(const LinearLayer&, const quant::NodePlan&)>& wanted);

// Nodes whose weights are quantized, but belong to no layer that can be posed as a problem, with the reason.
std::vector<std::string> left_nearest(const graph::Model& model, const quant::Plan& plan);

// Nodes whose inputs quantization puts into another order or number than the float model has them in: behind TopK, Compress,
// NonZero, Unique and NonMaxSuppression of values that it changes, and behind lengths computed from these. A row there belongs to
// another object than the float model's row at its place. What is scattered into a tensor of before is in order again.
std::set<std::string> out_of_order(const graph::Model& model, const quant::Plan& plan);

// The vector behind a matrix product that can take up its mean error.
std::optional<quant::VectorBehind> vector_of(const LinearLayer& layer, const graph::Index& index, const quant::Plan& plan);

}  // namespace quasar::tune
