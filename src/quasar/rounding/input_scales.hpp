// In which scales a plan's layers read their inputs, and what follows from a change of them.
#pragma once

#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/rounding/linear_layer.hpp"

namespace quasar::tune {

// The pair that stands before a node which reads a value in a type of its own; nullptr: it reads the value's.
const quant::QuantParams* conversion_of(const quant::Plan& plan, const std::string& value, const std::string& node);

// The scale in which a layer reads its input; 0: float.
float input_scale(const quant::Plan& plan, const LinearLayer& layer);

// Codes of 32-bit biases follow the scales of their layers' inputs where those were refined (plan.refined).
void follow_refined_inputs(const graph::Model& model, quant::Plan& plan);

}  // namespace quasar::tune
