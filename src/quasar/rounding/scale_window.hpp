// The part of a model in which the scale of a value is judged: from the value over the next linear layers, everything there
// quantized but the weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

// Values that must share their parameters, because codes pass between them unchanged; the first in topological order leads.
using SharedScale = std::vector<std::string>;

// 8 bits, one scale.
bool has_scale_to_refine(const quant::QuantParams& params);

// Values of 8 bits with a pair of their own in the plan. Outputs of Softmax are left out: their range is known.
std::vector<SharedScale> shared_scales(const graph::Model& model, const quant::Plan& plan);

// A model that takes the float values `inputs` (the leader first) and then a scale and a zero point for the group, and gives
// `outputs`, to be compared with the float model's values of these names.
struct ScaleWindow {
  graph::Model model;
  std::vector<std::string> inputs, outputs;
  size_t weight_bytes = 0;
};

// `layers`: how many linear layers in a row are looked ahead. nullopt: the window would need values whose type is unknown, or
// nothing reads the leader.
std::optional<ScaleWindow> scale_window(const graph::Index& index, const std::map<std::string, graph::Value>& types,
                                        const quant::Plan& plan, const SharedScale& group, size_t layers);

}  // namespace quasar::tune
