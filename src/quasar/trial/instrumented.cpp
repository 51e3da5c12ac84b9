#include "quasar/trial/instrumented.hpp"

namespace quasar::tune {

quant::Plan rounded_plan(const TrialContext& context, const quant::Config& config) {
  quant::Plan plan = plan_of(context, config);
  context.variants.improve(config, plan);
  return plan;
}

ToggledModel instrumented(const TrialContext& context, const quant::Config& config, const quant::Plan& plan) {
  return {context.variants.graph_of(config)->model, plan, context.job.memory_limit};
}

}  // namespace quasar::tune
