// Refined scales are judged where they were found, two layers on; whether they serve the model is seen at its outputs.
#pragma once

#include <map>
#include <string>

#include "quasar/data/dataset.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

// Of the refined parameters: all, those of values that are no inputs of the model, or none, whichever leaves the outputs nearest
// to the float model's (mean over at most 64 samples, spread over those given, of the 2-norm of the difference), with weights in
// float.
std::map<std::string, quant::QuantParams> proven(std::map<std::string, quant::QuantParams> refined, const graph::Model& model,
                                                 const quant::Plan& plan, const data::Dataset& samples, size_t threads);

}  // namespace quasar::tune
