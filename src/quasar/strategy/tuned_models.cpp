#include "quasar/strategy/tuned_models.hpp"

#include <algorithm>

#include "quasar/base/names.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/quant/computed_hash.hpp"
#include "quasar/trial/trial.hpp"

namespace quasar::tune {

std::vector<std::string> TuneConfig::in_float() const {
  std::vector<std::string> names;
  for (const auto& [name, choice] : nodes) {
    if (choice == tune::in_float) names.push_back(name);
  }
  return names;
}

search::Point TunedModels::point_of(const TuneConfig& config) const {
  std::vector<std::pair<std::string, Json>> changes;
  for (const auto& [name, choice] : config.nodes)
    changes.emplace_back(precision_of(name), choice == space_.base ? Json(quantized) : choice);
  for (const auto& [name, choice] : config.settings) changes.emplace_back(name, choice);
  if (round_ && !config.settings.contains(sampling_size)) changes.emplace_back(sampling_size, *round_);
  for (const auto& [name, choice] : changes) check(name, choice);
  return changed(context_.space, context_.space.nearest_to(Json::object()), changes);
}

// The space would take what is nearest, and a slip of the pen the default configuration.
void TunedModels::check(const std::string& parameter, const Json& choice) const {
  const bool of_node = parameter.starts_with(precision_of(""));
  const auto own_name = [&](const std::string& name) { return of_node ? name.substr(precision_of("").size()) : name; };
  const std::string who = "strategy " + strategy_ + ": ", what = own_name(parameter);
  const search::Parameter* const found = context_.space.find(parameter);
  if (found == nullptr) {
    std::vector<std::string> known;
    for (const auto& one : context_.space.parameters()) {
      if (one.name.starts_with(precision_of("")) == of_node) known.push_back(own_name(one.name));
    }
    throw Error(who + (of_node ? "no operator '" + what + "' is tuned" : "the tuning space has no setting '" + what + "'") +
                did_you_mean(what, known) + (known.size() > 12 ? "" : "; known: " + joined(known)));
  }
  if (search::contains(*found->distribution, choice)) return;
  const std::string given = choice.is_string() ? choice.get<std::string>() : choice.dump();
  std::vector<std::string> known;
  if (const auto* categorical = std::get_if<search::Categorical>(found->distribution.get())) {
    for (const auto& one : categorical->choices) known.push_back(one.is_string() ? one.get<std::string>() : one.dump());
  }
  throw Error(who + (of_node ? "operator '" : "setting '") + what + "' cannot be '" + given + "'" + did_you_mean(given, known) +
              "; allowed: " + joined(known));
}

ToggledModel TunedModels::toggled(const TuneConfig& config) const {
  instrumented_++;
  return tune::instrumented(*context_.trial_context, config_of(config), plan_for(config));
}

quant::Plan TunedModels::plan_for(const TuneConfig& config) const {
  return rounded_plan(*context_.trial_context, config_of(config));
}

std::string TunedModels::computed(const TuneConfig& config) const {
  const quant::Config words = config_of(config);
  const quant::Plan plan = plan_of(*context_.trial_context, words);
  const bool kernels_count =
      is_cost(context_.job.aim.goals.objectives.front().metric) ||
      std::ranges::any_of(context_.job.aim.goals.constraints, [](const auto& one) { return is_cost(one.metric); });
  // Codes that are optimized depend on more than the plan.
  if (kernels_count || plan.rounding.optimizes()) return quant::hash_of(plan);
  return quant::hash_of_values(context_.trial_context->variants.graph_of(words)->model, plan);
}

std::string TunedModels::why_impossible(const TuneConfig& config) const {
  return tune::why_impossible(*context_.trial_context, point_of(config));
}

const graph::Model& TunedModels::graph_for(const TuneConfig& config) const {
  return context_.trial_context->variants.graph_of(config_of(config))->model;  // the variants keep it
}

quant::Config TunedModels::config_of(const TuneConfig& config) const {
  return quant::parse_config(words_of(context_.space, point_of(config)));
}

data::DatasetPtr TunedModels::samples(size_t most) const {
  return data::first(context_.samples, std::min(most, context_.samples->size()));
}

}  // namespace quasar::tune
