// x · HardSigmoid(x) with alpha 1/6 and beta 1/2 is HardSwish(x) (ONNX, opset 14).
#pragma once

#include <map>
#include <set>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::quant {

// The Muls that compute it, neither they nor their HardSigmoid among these nodes; none below opset 14, or where others read the
// HardSigmoid.
std::set<std::string> hard_swishes(const graph::Index& index, const std::map<std::string, NodePlan>& quantized);

// Makes HardSwish of those Muls that are in the model.
void restore_hard_swishes(graph::Model& model, const std::set<std::string>& muls);

}  // namespace quasar::quant
