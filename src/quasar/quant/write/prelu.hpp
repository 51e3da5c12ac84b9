// PRelu(x) is the larger of x and slope · x where no slope is above 1. ONNX Runtime's PRelu (1.30) asks for the sign of one
// element after the other, which takes up to ten times as long as a product and a maximum of whole vectors.
#pragma once

#include <map>
#include <set>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::quant {

// The PRelus that may be written so: not among these nodes, with slopes that are float constants of at most 1.
std::set<std::string> prelus_to_take_apart(const graph::Index& index, const std::map<std::string, NodePlan>& quantized);

// Writes those that are in the model as Mul and Max. The Max keeps the node's name.
void take_prelus_apart(graph::Model& model, const std::set<std::string>& prelus);

}  // namespace quasar::quant
