// Trials on the model of the example digits that are made and scored as a search does it.
#pragma once

#include "quasar/trial/trial.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {

inline search::Point with(const MadeUpTrials& trials, const std::vector<std::pair<std::string, Json>>& changes) {
  return changed(trials.setting.spaces.all, trials.default_point(), changes);
}

inline Measures scored(const MadeUpTrials& trials, const search::Point& point) {
  const TrialContext& context = trials.trial_context();
  const quant::Config config = quant::parse_config(words_of(context.space, point));
  return measures_of(context.evaluator.score(build(context, config, plan_of(context, config)).model));
}

}  // namespace quasar::tune
