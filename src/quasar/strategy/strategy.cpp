#include "quasar/strategy/strategy.hpp"

#include <algorithm>
#include <ranges>
#include <sstream>

#include "quasar/base/cancellation.hpp"
#include "quasar/job/cost.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/search/prior_trials.hpp"
#include "quasar/sensitivity/hessian_trace.hpp"
#include "quasar/strategy/exit_policy.hpp"

namespace quasar::tune {

Json Strategy::default_space(const Job& /*job*/) const {
  return nullptr;
}

Json Strategy::space_of(const Job& /*job*/, const Json& search_space, const graph::Model& /*model*/,
                        const quant::Target& /*target*/) const {
  return search_space;
}

namespace {

// An exception's text may have several lines, a reason has one.
std::string on_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace

void tell_exception(Finding& finding, const std::string& strategy, const std::string& what, search::RunResult result) {
  result.reason = "strategy " + strategy + " ended with an exception: " + on_one_line(what);
  finding.warnings.push_back(result.reason + "; the best trial so far is kept");
  finding.result = std::move(result);
  finding.failed = true;
}

namespace {

search::RunResult cut_short(const StrategyContext& context, const search::Sequence& sequence) {
  const auto seconds = time_limit_of(exit_policy(context.job.limits));
  if (!context.stop.stop_requested() && seconds)
    return sequence.finished("time_limit of " + Json(*seconds).dump() + " s reached");
  search::RunResult result = sequence.finished("interrupted");
  result.end = search::RunResult::End::interrupted;
  return result;
}

search::RunResult not_measured(const search::Sequence& sequence, std::vector<std::string>& warnings, const Error& failed) {
  const std::string reason = "the sensitivity of operators cannot be measured";
  warnings.push_back(reason + ", so the search ends with the best trial so far: " + failed.what());
  return sequence.finished(reason);
}

}  // namespace

search::RunResult run_to_its_end(const StrategyContext& context, const search::Sequence& sequence,
                                 std::vector<std::string>& warnings, const std::function<std::string()>& work) {
  try {
    return sequence.finished(work());
  } catch (const search::SequenceOver& over) {
    return over.result;
  } catch (const Cancelled&) {
    return cut_short(context, sequence);
  } catch (const ToggledModelFailed& failed) {
    return not_measured(sequence, warnings, failed);
  } catch (const TraceFailed& failed) {
    return not_measured(sequence, warnings, failed);
  }
}

std::optional<int64_t> trials_wanted(const Limits& limits, int64_t default_trials) {
  const auto all = n_trials_of(limits), models = max_trials_of(limits);
  if (all && models) return std::min(*all, *models);
  if (all || models) return all ? all : models;
  return limits.whole_space ? std::nullopt : std::optional(default_trials);
}

int64_t TrialLimit::used(const search::Counts& counts) const {
  return static_cast<int64_t>(models ? counts.executed() : counts.finished());
}

TrialLimit trial_limit(const Limits& limits) {
  const auto most = trials_wanted(limits);
  return {most, most && most == max_trials_of(limits) && most != n_trials_of(limits)};
}

std::optional<int64_t> Strategy::most_trials(const Limits& limits) const {
  return trials_wanted(limits);
}

std::vector<std::string> Strategy::idle(const Job& /*job*/, const graph::Model& /*model*/,
                                        const quant::Target& /*target*/) const {
  return {};
}

void Strategy::expect_possible(const Beginning& /*begin*/) const {}

Json Strategy::outlook(const Job& /*job*/, const search::Space& /*space*/, const graph::Model& /*model*/,
                       const quant::Target& /*target*/) const {
  return nullptr;
}

std::vector<Json> Strategy::also_needs(const Job& /*job*/, const graph::Model& /*model*/, const quant::Target& /*target*/) const {
  return {};
}

search::StopConditions conditions_of(const Limits& limits, int64_t default_trials) {
  if (max_trials_of(limits)) return exit_policy(limits);
  Json words = limits.stop;
  if (const auto wanted = trials_wanted(limits, default_trials)) words["n_trials"] = *wanted;
  return search::stop_conditions(words);
}

std::optional<double> time_limit_of(const search::StopConditions& conditions) {
  std::optional<double> earliest;
  for (const auto& condition : conditions) {
    if (const auto seconds = condition->deadline()) earliest = std::min(*seconds, earliest.value_or(*seconds));
  }
  return earliest;
}

bool have_time_for(const Limits& limits, std::optional<uint64_t> trials, double seconds, double passed) {
  const auto limit = time_limit_of(conditions_of(limits));
  return !limit || (trials && passed + seconds * static_cast<double>(*trials) <= *limit);
}

namespace {

constexpr uint64_t most_walked = search::Space::most_looked_through;  // takes part of a second

// The first possible one that differs from `point` in one parameter, in product order.
std::optional<search::Point> one_changed(const search::Space& space, const search::Point& point) {
  for (const auto& parameter : std::views::reverse(space.parameters())) {
    const uint64_t choices = parameter.pinned ? 0 : search::cardinality(*parameter.distribution).value_or(0);
    for (uint64_t i = 1; i < std::min(choices, most_walked); ++i) {
      const std::pair<std::string, Json> change(parameter.name, search::value_at(*parameter.distribution, i));
      search::Point other = changed(space, point, std::span(&change, 1));
      if (space.refused(other).empty()) return other;
    }
  }
  return std::nullopt;
}

}  // namespace

search::Point default_point(const search::Space& space) {
  const search::Point first = space.nearest_to(Json::object());
  if (space.refused(first).empty()) return first;
  // What was added to a space is last in product order, and would be all that a walk changes.
  if (space.part() != nullptr) {
    const search::Point in_part = default_point(*space.part());
    search::Point point = changed(space, in_part, {});
    if (space.refused(point).empty()) return point;
  }
  for (uint64_t i = 0; i < std::min(space.size().value_or(0), most_walked); ++i) {
    search::Point point = space.at(i);
    if (space.refused(point).empty()) return point;
  }
  if (auto point = one_changed(space, first)) return *point;
  Rng rng(0);
  search::Point drawn = first;
  for (uint64_t i = 0; i < search::Space::most_looked_through && !space.refused(drawn).empty(); ++i) drawn = space.sample(rng);
  return drawn;
}

namespace {

// The space's own spelling of a choice: "int8" is its "Int8Spec".
Json spelled(const search::Space& space, const std::string& name, const Json& value) {
  const search::Parameter* parameter = space.find(name);
  const auto* choices = parameter == nullptr ? nullptr : std::get_if<search::Categorical>(parameter->distribution.get());
  if (choices == nullptr || !value.is_string() || search::contains(*parameter->distribution, value)) return value;
  const auto word = [&](const Json& choice) { return quant::spec_word(choice.get<std::string>()); };
  const auto same = std::ranges::find_if(choices->choices,
                                         [&](const Json& choice) { return choice.is_string() && word(choice) == word(value); });
  return same == choices->choices.end() ? value : *same;
}

Json spelled(const search::Space& space, const Json& words) {
  Json out = words;
  for (auto& [key, value] : out.items()) {
    if (value.is_object() && space.find(key) == nullptr) {
      for (auto& [member, inner] : value.items()) inner = spelled(space, key + "_" + member, inner);
    } else {
      value = spelled(space, key, value);
    }
  }
  return out;
}

}  // namespace

std::vector<search::Point> enqueued(const std::vector<Json>& configurations, const search::Space& space,
                                    const std::vector<search::Space>& spaces) {
  std::vector<search::Point> out;
  for (const auto& words : configurations) {
    std::string why;
    const auto point = [&](const search::Space& in) -> std::optional<search::Point> {
      try {
        search::Point inside = in.encode(spelled(in, words));
        if (const std::string reason = in.refused(inside); !reason.empty()) throw Error(reason);
        return inside;
      } catch (const Error& e) {
        if (why.empty()) why = e.what();
        return std::nullopt;
      }
    };
    if (auto inside = point(space)) {
      out.push_back(std::move(*inside));
    } else if (std::ranges::none_of(spaces, [&](const auto& other) { return point(other).has_value(); })) {
      throw Error("enqueue: " + why);
    }
  }
  return out;
}

std::vector<search::Point> first_points(const std::vector<Json>& configurations, const search::Space& space) {
  std::vector<search::Point> points{default_point(space)};
  for (auto& point : enqueued(configurations, space, {space})) points.push_back(std::move(point));
  return points;
}

void limit(Stage& stage, const TrialLimit& kind, int64_t most) {
  if (kind.models) {
    stage.max_trials = most;
  } else {
    stage.conditions["n_trials"] = most;
  }
}

search::RunResult run_stage(const StrategyContext& context, const search::Space& space, Stage stage) {
  const auto sampler = search::samplers::table().make(stage.sampler, stage.sampler_options);
  auto prior = search::fitting(context.earlier, space);
  for (auto& point : search::best_points(prior, context.study.directions().front())) stage.first.push_back(std::move(point));
  const search::RunOptions options{.seed = context.job.seed,
                                   .n_jobs = static_cast<size_t>(context.job.n_jobs),
                                   .first = std::move(stage.first),
                                   .stage = stage.name,
                                   .prior = std::move(prior),
                                   .cost = cost_of(space),
                                   .likeness = likeness_of(context.spaces.all),
                                   .listener = context.listener,
                                   .stop = context.stop,
                                   .begin = context.begin};
  auto conditions = search::stop_conditions(stage.conditions);
  if (stage.max_trials) conditions.push_back(max_trials(*stage.max_trials));
  return search::run(options, context.study, space, *sampler, conditions, context.objective);
}

search::Counts counts_of(const search::Study& study, const std::string& stage) {
  search::Counts counts;
  for (const auto& trial : study.trials()) {
    if (trial.user_attributes.value(search::attribute::stage, std::string()) == stage) search::count(counts, trial);
  }
  return counts;
}

}  // namespace quasar::tune
