// What a finished model breaks of the rules of Qualcomm's NPU (HTP).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/quant/pairs.hpp"

namespace quasar::quant {

// In the model's order. `values`: types and shapes, as far as known.
std::vector<NodeFault> faults_on_htp(const graph::Model& model, const std::map<std::string, graph::Value>& values);

}  // namespace quasar::quant
