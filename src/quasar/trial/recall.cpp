#include "quasar/trial/recall.hpp"

#include <algorithm>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/machine.hpp"

namespace quasar::tune {

void recall_models(const TrialContext& context, std::span<const search::Trial> trials) {
  for (const search::Trial& trial : trials) {
    const auto content = trial.user_attributes.find(content_attribute);
    if (trial.state == search::State::complete && !trial.is_duplicate() && content != trial.user_attributes.end())
      context.book.know(content->get<std::string>(), trial.number);
  }
}

std::optional<eval::Scores> recorded_scores(const Aim& aim, const search::Trial& trial) {
  eval::Scores out;
  for (const auto& [name, value] : measures_of(aim.goals, trial)) {
    if (!is_cost(name)) out[name] = {.value = value, .low = value, .high = value};
  }
  return all_there(aim, out) ? std::optional(out) : std::nullopt;
}

eval::Scores said_before(const Aim& aim, const search::Trial& trial) {
  auto recorded = recorded_scores(aim, trial);
  const auto own = [&](const std::string& metric) { return is_own(aim.goals, metric); };
  if (!recorded || std::ranges::none_of(aim.metrics, own)) return {};
  // What else it gives stays.
  for (const auto& metric : aim.metrics) {
    if (!own(metric)) recorded->erase(metric);
  }
  return *std::move(recorded);
}

bool all_there(const Aim& aim, const eval::Scores& scores) {
  return std::ranges::all_of(aim.metrics, [&](const std::string& metric) { return scores.contains(metric); });
}

void recall_best(const TrialContext& context, const search::Trial& trial) {
  const eval::Scores said = said_before(context.job.aim, trial);
  if (all_there(context.job.aim, said)) return;
  const quant::Config config = config_of(context, trial);
  const graph::Model model = build(context, config, plan_of(context, config), throw_if_cancelled).model;
  const auto crown = [&](std::span<const double> values) {
    if (context.racer != nullptr && values.size() == context.evaluator.samples()) context.racer->crown(values);
    return true;
  };
  const auto scores = context.evaluator.race(model, cores(), crown, context.devices.first(), {}, said);
  if (!trial.values.empty()) keep(context, trial.number, *scores, trial.values.front(), model);
}

}  // namespace quasar::tune
