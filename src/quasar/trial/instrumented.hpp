// The model of a configuration with a switch at every operator (toggled_model.hpp), for what trials share.
#pragma once

#include "quasar/sensitivity/toggled_model.hpp"
#include "quasar/trial/trial.hpp"

namespace quasar::tune {

// The plan with its rounding.
quant::Plan rounded_plan(const TrialContext& context, const quant::Config& config);

// With this plan of it; keeps what the job's memory_limit allows. Throws as ToggledModel does.
ToggledModel instrumented(const TrialContext& context, const quant::Config& config, const quant::Plan& plan);

}  // namespace quasar::tune
