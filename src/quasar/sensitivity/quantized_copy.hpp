// A unit of ToggledModel as it is when quantized, simulated in float arithmetic.
#pragma once

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

// `exact`: the unit's nodes as a model of their own, with the names that they have in the model of `index`. The copy reads the
// same inputs and gives the same outputs, in this order and under other names, with pairs on both and with quantized constants.
graph::Model quantized_copy(const graph::Model& exact, const graph::Index& index, const quant::Plan& plan);

}  // namespace quasar::tune
