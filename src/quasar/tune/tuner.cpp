#include "quasar/tune/tuner.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/names.hpp"
#include "quasar/search/tracker.hpp"
#include "quasar/tune/exit_policy.hpp"
#include "quasar/tune/hessian_trace.hpp"
#include "quasar/tune/possible_points.hpp"
#include "quasar/tune/precision.hpp"

namespace quasar::tune {
namespace {

constexpr const char* goal_met = "the accuracy criterion is met";

// timeout 0.
class FirstSuccess final : public search::StopCondition {
 public:
  // `known`: how many there were before; none: it does not act.
  explicit FirstSuccess(std::shared_ptr<const std::optional<size_t>> known = std::make_shared<std::optional<size_t>>(0))
      : known_(std::move(known)) {}

  std::optional<std::string> met(const search::Progress& progress) const override {
    return *known_ && progress.candidates > **known_ ? std::optional<std::string>(goal_met) : std::nullopt;
  }

 private:
  std::shared_ptr<const std::optional<size_t>> known_;
};

search::StopConditions with_first_success(const Job& job, std::shared_ptr<const std::optional<size_t>> known) {
  auto conditions = exit_policy(job);
  conditions.push_back(std::make_unique<FirstSuccess>(std::move(known)));
  return conditions;
}

std::vector<std::string> names_of(const TuningSpace& space) {
  std::vector<std::string> names;
  for (const auto& node : space.nodes) names.push_back(node.name);
  return names;
}

}  // namespace

std::vector<std::string> TuneConfig::in_float() const {
  std::vector<std::string> names;
  for (const auto& [name, choice] : nodes) {
    if (choice == tune::in_float) names.push_back(name);
  }
  return names;
}

Tuner::Tuner(const Workbench& bench, const TuningSpace& space, const std::string& stage)
    : bench_(bench),
      space_(space),
      left_in_float_(bench.lab->model, names_of(space)),
      sequence_({.seed = bench.job.seed,
                 .n_jobs = static_cast<size_t>(bench.job.n_jobs),
                 .stage = stage,
                 .listener = bench.listener,
                 .stop = bench.stop,
                 .begin = bench.begin},
                bench.study, bench.space, with_first_success(bench.job, successes_), bench.objective),
      baseline_(measures_of(bench.lab->evaluator.reference())),
      stage_(stage) {}

search::Point Tuner::point_of(const TuneConfig& config) const {
  std::vector<std::pair<std::string, Json>> changes;
  for (const auto& [name, choice] : config.nodes)
    changes.emplace_back(precision_of(name), choice == space_.base ? Json(quantized) : choice);
  for (const auto& [name, choice] : config.settings) changes.emplace_back(name, choice);
  for (const auto& [name, choice] : changes) check(name, choice);
  return changed(bench_.space, bench_.space.nearest_to(Json::object()), changes);
}

// The space would take what is nearest, and a slip of the pen the default configuration.
void Tuner::check(const std::string& parameter, const Json& choice) const {
  const bool of_node = parameter.starts_with(precision_of(""));
  const auto own_name = [&](const std::string& name) { return of_node ? name.substr(precision_of("").size()) : name; };
  const std::string who = "strategy " + stage_ + ": ", what = own_name(parameter);
  const search::Parameter* const found = bench_.space.find(parameter);
  if (found == nullptr) {
    std::vector<std::string> known;
    for (const auto& one : bench_.space.parameters()) {
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

search::Trial Tuner::evaluate(const TuneConfig& config) {
  return evaluate(std::span<const TuneConfig>(&config, 1)).front();
}

std::vector<search::Trial> Tuner::evaluate(std::span<const TuneConfig> configs) {
  if (configs.empty()) return tried({});  // a strategy that asks for nothing ends some time, too
  std::vector<search::Trial> trials;
  while (trials.size() < configs.size()) {
    std::vector<search::Point> points;
    for (const auto& config : configs.subspan(trials.size(), std::min(at_once(), configs.size() - trials.size())))
      points.push_back(point_of(config));
    if (bench_.job.tuning.timeout == 0) {
      if (points.size() > 1) try_to_first_success(points);
      if (const auto first = first_success(points)) points.resize(*first + 1);
    }
    std::ranges::move(tried(points), std::back_inserter(trials));
    if (met_ && bench_.job.tuning.timeout == 0) throw Over{};
  }
  steps_to_come_.clear();
  return trials;
}

size_t Tuner::at_once() const {
  constexpr size_t most = 256, most_choices = 1'000'000;  // choices: an operator's, in all configurations together
  return std::clamp<size_t>(std::min(left(), most_choices / std::max<size_t>(1, space_.nodes.size())), 1, most);
}

// In any order on whatever runs them, but no more of them once one succeeds.
void Tuner::try_to_first_success(std::span<const search::Point> points) {
  const auto known = first_success(points);
  if (known) points = points.first(*known);
  if (points.empty()) return;
  *successes_ = search::Tracker(bench_.study.trials(), stage_, bench_.study.directions().front()).progress(0).candidates;
  in_a_trial_ = true;
  try {
    sequence_.evaluate(points);
  } catch (const search::SequenceOver& over) {
    successes_->reset();
    if (over.result.reason != goal_met || over.result.end != search::RunResult::End::condition) {
      note_finished(points);
      throw;
    }
  }
  in_a_trial_ = false;
  successes_->reset();
}

std::optional<size_t> Tuner::first_success(std::span<const search::Point> points) const {
  for (size_t i = 0; i < points.size(); ++i) {
    const search::Trial* const trial = find(points[i]);
    if (trial != nullptr && trial->is_candidate()) return i;
  }
  return std::nullopt;
}

const search::Trial* Tuner::find(const search::Point& point) const {
  for (const search::Trial& trial : bench_.study.trials()) {
    if (trial.finished() && trial.point == point) return &trial;
  }
  return nullptr;
}

search::Trial Tuner::explore(const TuneConfig& config) {
  return explore(std::span<const TuneConfig>(&config, 1)).front();
}

std::vector<search::Trial> Tuner::explore(std::span<const TuneConfig> configs) {
  std::vector<search::Point> points;
  for (const auto& config : configs) points.push_back(point_of(config));
  return tried(points);
}

std::vector<search::Trial> Tuner::tried(std::span<const search::Point> points) {
  in_a_trial_ = true;
  std::vector<search::Trial> trials;
  try {
    trials = sequence_.evaluate(points);
  } catch (const search::SequenceOver&) {
    note_finished(points);
    throw;
  }
  in_a_trial_ = false;
  for (const auto& trial : trials) note(trial);
  return trials;
}

// Of a step that was cut off. Where timeout is 0, what comes after the first success counts for nothing.
void Tuner::note_finished(std::span<const search::Point> points) {
  for (const auto& point : points) {
    const search::Trial* const trial = find(point);
    if (trial == nullptr) continue;
    note(*trial);
    if (met_ && bench_.job.tuning.timeout == 0) return;
  }
}

void Tuner::note(const search::Trial& trial) {
  if (!best_ || better(trial, *best_)) best_ = trial;
  if (!steps_to_come_.empty()) {
    step_ = steps_to_come_.front();
    steps_to_come_.erase(steps_to_come_.begin());
  }
  const double lost = loss(trial);
  part_of_.try_emplace(trial.number, part_);
  if (passed_.insert(trial.number).second) {
    search::count(used_, trial);
    if (std::isfinite(lost)) way_.push_back({trial.point, lost});
  }
  if (trial.is_candidate() && (!met_ || preferred(trial, *met_))) met_ = trial;
  steps_.push_back({{"step", step_.empty() ? stage_ : step_},
                    {"trial", trial.number},
                    {"value", trial.values.empty() ? Json() : Json(trial.values.front())},
                    {"loss", std::isfinite(lost) ? Json(lost) : Json()},
                    {"float", left_in_float_.nodes(bench_.space, trial.point).size()}});
}

// Of two that meet the goal: the one that gives up less, then the one that loses less.
bool Tuner::preferred(const search::Trial& a, const search::Trial& b) const {
  if (by_objective_ && !a.values.empty() && !b.values.empty())
    return search::better(a.values.front(), b.values.front(), bench_.study.directions().front());
  const double gives = left_in_float_.given_up(bench_.space, a.point), gave = left_in_float_.given_up(bench_.space, b.point);
  return gives < gave || (gives == gave && better(a, b));
}

double Tuner::loss(const search::Trial& trial) const {
  return loss_of(*bench_.job.criterion, measures_of(bench_.job.goals, trial), baseline_);
}

size_t Tuner::left() const {
  return trials_left(bench_.job, used_);  // not of what the study has: a resumed strategy repeats its way through it
}

void Tuner::tell(const std::string& step) {
  step_ = step;
  steps_to_come_.clear();
}

void Tuner::tell(std::vector<std::string> steps) {
  steps_to_come_ = std::move(steps);
}

void Tuner::warn(const std::string& warning) {
  if (!warning.empty() && std::ranges::find(warnings_, warning) == warnings_.end()) warnings_.push_back(warning);
}

ToggledModel Tuner::toggled(const TuneConfig& config) const {
  instrumented_++;
  return {graph_for(config), plan_for(config)};
}

quant::Plan Tuner::plan_for(const TuneConfig& config) const {
  const quant::Config parsed = config_of(config);
  quant::Plan plan = plan_of(*bench_.lab, parsed);
  bench_.lab->variants.improve(parsed, plan);
  return plan;
}

std::string Tuner::why_impossible(const TuneConfig& config) const {
  return tune::why_impossible(*bench_.lab, point_of(config));
}

const graph::Model& Tuner::graph_for(const TuneConfig& config) const {
  return bench_.lab->variants.graph_of(config_of(config))->model;  // the variants keep it
}

quant::Config Tuner::config_of(const TuneConfig& config) const {
  return quant::parse_config(words_of(bench_.space, point_of(config)));
}

data::DatasetPtr Tuner::samples(size_t most) const {
  return data::first(bench_.samples, std::min(most, bench_.samples->size()));
}

Finding Tuner::run(const std::function<void(Tuner&)>& traverse) {
  Finding finding;
  try {
    traverse(*this);
    const bool all = passed_.size() >= bench_.space.valid().value_or(UINT64_MAX);
    static_cast<search::RunResult&>(finding) =
        sequence_.finished(met_  ? goal_met
                           : all ? "the tuning space is exhausted"
                                 : "strategy " + stage_ + " is at its end, and nothing met the accuracy criterion");
  } catch (const Over&) {
    static_cast<search::RunResult&>(finding) = sequence_.finished(goal_met);
  } catch (const search::SequenceOver& over) {
    static_cast<search::RunResult&>(finding) = over.result;
  } catch (const Cancelled&) {
    static_cast<search::RunResult&>(finding) = cut_short(bench_, sequence_, exit_policy(bench_.job));
  } catch (const ToggledModelFailed& failed) {
    static_cast<search::RunResult&>(finding) = sequence_.finished(told_failure(finding.warnings, failed));
  } catch (const TraceFailed& failed) {
    static_cast<search::RunResult&>(finding) = sequence_.finished(told_failure(finding.warnings, failed));
  } catch (const std::exception& thrown) {
    if (!is_the_strategys(thrown)) throw;
    tell_exception(finding, stage_, thrown.what(), sequence_.finished(""));
  }
  conclude(finding);
  finding.story["instrumented_models"] = instrumented_;
  return finding;
}

// What was found stays when a strategy fails; a storage or a machine that fails is another matter, and so is a strategy that
// failed before anything was found.
bool Tuner::is_the_strategys(const std::exception& thrown) const {
  const auto* const error = dynamic_cast<const Error*>(&thrown);
  const bool ours =
      dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr || (error != nullptr && error->blame() == Blame::world);
  return !ours && !in_a_trial_ && !way_.empty();
}

Finding Tuner::sample(const std::string& sampler) {
  by_objective_ = is_cost(bench_.job.goals.objectives.front().metric);
  auto conditions = exit_policy(bench_.job);
  if (bench_.job.tuning.timeout == 0) conditions.push_back(std::make_unique<FirstSuccess>());
  const auto made = search::samplers::table().make(sampler);
  bool all_possible = true;
  const auto possible = possible_points(*made, [&](const search::Point& point) {
    const bool is_possible = tune::why_impossible(*bench_.lab, point).empty();
    all_possible = all_possible && is_possible;
    return is_possible;
  });
  const search::RunOptions options{.seed = bench_.job.seed,
                                   .n_jobs = static_cast<size_t>(bench_.job.n_jobs),
                                   .first = {bench_.space.nearest_to(Json::object())},
                                   .stage = stage_,
                                   .listener = bench_.listener,
                                   .stop = bench_.stop,
                                   .begin = bench_.begin};
  Finding finding{search::run(options, bench_.study, bench_.space, *possible, conditions, bench_.objective)};
  if (finding.end == search::RunResult::End::exhausted && !all_possible)
    finding.reason = "no configuration is found that quantizes something and was not tried";
  for (const auto& trial : bench_.study.trials()) {
    if (!trial.finished() || trial.user_attributes.value(search::attribute::stage, std::string()) != stage_) continue;
    tell(trial.point == options.first.front() ? "default configuration" : "chosen by sampler " + sampler);
    note(trial);
  }
  conclude(finding);
  finding.story["sampler"] = sampler;
  return finding;
}

std::string told_failure(std::vector<std::string>& warnings, const Error& failed) {
  std::string reason = "the sensitivity of operators cannot be measured";
  warnings.push_back(reason + ", so the search ends with the best trial so far: " + failed.what());
  return reason;
}

search::RunResult cut_short(const Workbench& bench, const search::Sequence& sequence, const search::StopConditions& conditions) {
  const auto seconds = time_limit_of(conditions);
  if (!bench.stop.stop_requested() && seconds) return sequence.finished("time_limit of " + Json(*seconds).dump() + " s reached");
  search::RunResult result = sequence.finished("interrupted");
  result.end = search::RunResult::End::interrupted;
  return result;
}

}  // namespace quasar::tune
