// What a plan computes, whichever kernels do it.
#pragma once

#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::quant {

// Two plans of one float graph with equal hashes give every node the same inputs, constants and output grids: in float
// arithmetic the models are one, and only the kernels differ. Such is an Add in float or quantized between pairs that its
// neighbours need anyway. Different hashes say nothing.
std::string hash_of_values(const graph::Model& model, const Plan& plan);

}  // namespace quasar::quant
