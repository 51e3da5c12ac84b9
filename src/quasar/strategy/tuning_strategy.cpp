// The bases of strategies that tune operators.
#include <algorithm>

#include "quasar/strategy/exit_policy.hpp"
#include "quasar/strategy/tuner.hpp"

namespace quasar::tune {

Json TuningStrategy::default_space(const Job& /*job*/) const {
  return Json::object();
}

void TuningStrategy::check(const Job& job, const Spaces& /*spaces*/) const {
  if (!job.spaces.front().empty())
    throw Error("strategy " + name() +
                " makes its own space from the target's capability: leave search_space out, and narrow it with op_type_dict and "
                "op_name_dict");
}

Json TuningStrategy::space_of(const Job& job, const Json& /*search_space*/, const graph::Model& model,
                              const quant::Target& target) const {
  return search_space_of(tuning_space(job.tuning, model, target), job.tuning, falls_back());
}

std::vector<Json> TuningStrategy::also_needs(const Job& job, const graph::Model& model, const quant::Target& target) const {
  std::vector<Json> configurations;
  if (job.tuning.approach == Approach::weight_only) return configurations;  // nothing is observed
  for (const auto& node : tuning_space(job.tuning, model, target).nodes) {
    for (const auto& option : node.all_options()) {
      if (std::find(configurations.begin(), configurations.end(), option) == configurations.end())
        configurations.push_back(option);
    }
  }
  return configurations;
}

std::optional<int64_t> TuningStrategy::most_trials(const Limits& limits) const {
  return most_trials_of(limits).count;
}

std::vector<std::string> TuningStrategy::idle(const Job& job, const graph::Model& model, const quant::Target& target) const {
  return tuning_space(job.tuning, model, target).ignored;
}

Finding TuningStrategy::run(const StrategyContext& context) const {
  const TuningSpace space = tuning_space(context.job.tuning, context.trial_context->model, context.trial_context->target);
  Tuner tuner(context, space, name());
  return tuner.run([this](Tuner& t) { traverse(t); });
}

void NextStrategy::traverse(Tuner& tuner) const {
  std::vector<search::Trial> history;
  while (const auto config = next(tuner, history)) history.push_back(tuner.evaluate(*config));
}

Finding SampledStrategy::run(const StrategyContext& context) const {
  const TuningSpace space = tuning_space(context.job.tuning, context.trial_context->model, context.trial_context->target);
  return Tuner(context, space, name()).sample(sampler());
}

}  // namespace quasar::tune
