#include "quasar/trial/instrumented.hpp"

namespace quasar::tune {

quant::Plan rounded_plan(const Laboratory& lab, const quant::Config& config) {
  quant::Plan plan = plan_of(lab, config);
  lab.variants.improve(config, plan);
  return plan;
}

ToggledModel instrumented(const Laboratory& lab, const quant::Config& config, const quant::Plan& plan) {
  return {lab.variants.graph_of(config)->model, plan, lab.job.memory_limit};
}

}  // namespace quasar::tune
