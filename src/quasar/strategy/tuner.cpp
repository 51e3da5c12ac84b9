#include "quasar/strategy/tuner.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/cancellation.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/search/prior_trials.hpp"
#include "quasar/sensitivity/hessian_trace.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/strategy/possible_points.hpp"

namespace quasar::tune {
namespace {

// What stands for a trial that was not worth it.
search::Trial untried(search::Point point, const std::string& why) {
  search::Trial trial;
  trial.state = search::State::failed;
  trial.point = std::move(point);
  trial.user_attributes[search::attribute::error] = why;
  return trial;
}

std::vector<std::string> names_of(const TuningSpace& space) {
  std::vector<std::string> names;
  for (const auto& node : space.nodes) names.push_back(node.name);
  return names;
}

}  // namespace

Tuner::Tuner(const StrategyContext& context, const TuningSpace& space, const std::string& stage)
    : context_(context),
      space_(space),
      left_in_float_(context.trial_context->model, names_of(space)),
      trials_(context, stage),
      baseline_(measures_of(context.trial_context->evaluator.reference())),
      stage_(stage),
      by_objective_(is_cost(context.job.goals.objectives.front().metric)) {}

search::Trial Tuner::evaluate(const TuneConfig& config) {
  return evaluate(std::span<const TuneConfig>(&config, 1)).front();
}

std::vector<search::Trial> Tuner::evaluate(std::span<const TuneConfig> configs) {
  if (configs.empty()) return tried({}, false);  // a strategy that asks for nothing ends some time, too
  std::vector<search::Trial> trials;
  while (trials.size() < configs.size()) {
    const bool to_success = context_.job.tuning.timeout == 0;
    const auto batch = configs.subspan(trials.size(), std::min(at_once(), configs.size() - trials.size()));
    std::ranges::move(tried(batch, to_success), std::back_inserter(trials));
    if (met_ && met_->number != met_before_ && to_success) throw Over{};
  }
  steps_to_come_.clear();
  return trials;
}

bool Tuner::met_in_float() const {
  if (!met_) return false;
  const TrialContext& trial_context = *context_.trial_context;
  const quant::Config config = tune::config_of(trial_context, *met_);
  const quant::Plan plan = tune::plan_of(trial_context, config);
  return !hardly_quantized(plan, trial_context.variants.graph_of(config)->model, trial_context.variants.seen(config),
                           ChosenFloat::counted)
              .empty();
}

size_t Tuner::at_once() const {
  return StepTrials::at_once(left(), space_.nodes.size());
}

search::Trial Tuner::explore(const TuneConfig& config) {
  return explore(std::span<const TuneConfig>(&config, 1)).front();
}

std::vector<search::Trial> Tuner::explore(std::span<const TuneConfig> configs) {
  return tried(configs, false);
}

// What quantizes nothing is known beforehand, and no trial. The default configuration is tried all the same: a search that has
// nothing else tells by it what is wrong.
std::vector<search::Trial> Tuner::tried(std::span<const TuneConfig> configs, bool to_success) {
  std::vector<search::Trial> out;
  std::vector<search::Point> points;
  for (const auto& config : configs) {
    search::Point point = point_of(config);
    const bool is_default = config.nodes.empty() && config.settings.empty();
    if (std::string why = is_default ? "" : tune::why_impossible(*context_.trial_context, point); !why.empty()) {
      out.push_back(untried(std::move(point), why));
    } else {
      out.emplace_back();
      points.push_back(std::move(point));
    }
  }
  std::span<const search::Point> counting = points;
  if (to_success) counting = in_trials(points, [&] { return trials_.to_first_success(points); });
  const std::vector<search::Trial> finished = in_trials(counting, [&] { return trials_.evaluate(counting); });
  auto next = finished.begin();
  for (auto trial = out.begin(); trial != out.end(); ++trial) {
    begin_step();
    if (trial->finished()) continue;  // untried
    if (next == finished.end()) {
      out.erase(trial, out.end());
      break;
    }
    *trial = *next++;
    note(*trial);
  }
  return out;
}

// Of a step that was cut off. Where timeout is 0, what comes after the first success counts for nothing.
void Tuner::note_finished(std::span<const search::Point> points) {
  for (const auto& point : points) {
    const search::Trial* const trial = trials_.find(point);
    if (trial == nullptr) continue;
    begin_step();
    note(*trial);
    if (met_ && context_.job.tuning.timeout == 0) return;
  }
}

void Tuner::begin_step() {
  if (steps_to_come_.empty()) return;
  step_ = steps_to_come_.front();
  steps_to_come_.erase(steps_to_come_.begin());
}

void Tuner::note(const search::Trial& trial) {
  if (!best_ || better(trial, *best_)) best_ = trial;
  const double lost = loss(trial);
  part_of_.try_emplace(trial.number, part_);
  if (passed_.insert(trial.number).second) {
    search::count(used_, trial);
    if (std::isfinite(lost)) way_.push_back({trial.point, lost});
  }
  if (trial.is_candidate() && (!met_ || preferred(trial, *met_))) met_ = trial;
  if (is_accurate(context_.job, measures_of(context_.job.goals, trial), context_.trial_context->evaluator.reference()) &&
      (!accurate_ || trial.violation() < accurate_->violation() ||
       (trial.violation() == accurate_->violation() && preferred(trial, *accurate_))))
    accurate_ = trial;
  const std::string round = round_ ? std::string(" (") + sampling_size + " " + round_->dump() + ")" : "";
  steps_.push_back({{"step", (step_.empty() ? stage_ : step_) + round},
                    {"trial", trial.number},
                    {"value", trial.values.empty() ? Json() : Json(trial.values.front())},
                    {"loss", std::isfinite(lost) ? Json(lost) : Json()},
                    {"float", left_in_float_.nodes(context_.space, trial.point).size()}});
}

// Of two that meet the goal: the better one by an objective that is a cost; otherwise the one that gives up less, then the one
// that loses less.
bool Tuner::preferred(const search::Trial& a, const search::Trial& b) const {
  if (by_objective_ && !a.values.empty() && !b.values.empty())
    return search::better(a.values.front(), b.values.front(), context_.study.directions().front());
  const double gives = left_in_float_.given_up(context_.space, a.point), gave = left_in_float_.given_up(context_.space, b.point);
  return gives < gave || (gives == gave && better(a, b));
}

double Tuner::loss(const search::Trial& trial) const {
  return loss_of(*context_.job.criterion, measures_of(context_.job.goals, trial), baseline_);
}

size_t Tuner::left() const {
  return trials_left(context_.job, used_);  // not of what the study has: a resumed strategy repeats its way through it
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

Finding Tuner::run(const std::function<void(Tuner&)>& traverse) {
  Finding finding;
  try {
    const auto& sizes = context_.job.tuning.sampling_sizes;  // the outermost loop, as in Intel Neural Compressor
    for (size_t i = 0; i < std::max<size_t>(sizes.size(), 1); i++) {
      if (sizes.size() > 1) round_ = sizes[i];
      traverse(*this);
    }
    const bool all = passed_.size() >= context_.space.valid().value_or(UINT64_MAX);
    static_cast<search::RunResult&>(finding) =
        trials_.finished(met_  ? goal_met
                         : all ? "the tuning space is exhausted"
                               : "strategy " + stage_ + " is at its end, and " + shortfall());
  } catch (const Over&) {
    static_cast<search::RunResult&>(finding) = trials_.finished(goal_met);
  } catch (const search::SequenceOver& over) {
    static_cast<search::RunResult&>(finding) = over.result;
  } catch (const Cancelled&) {
    static_cast<search::RunResult&>(finding) = cut_short(context_, trials_.sequence(), exit_policy(context_.job));
  } catch (const ToggledModelFailed& failed) {
    static_cast<search::RunResult&>(finding) = trials_.finished(told_failure(finding.warnings, failed));
  } catch (const TraceFailed& failed) {
    static_cast<search::RunResult&>(finding) = trials_.finished(told_failure(finding.warnings, failed));
  } catch (const std::exception& thrown) {
    if (!is_the_strategys(thrown)) throw;
    tell_exception(finding, stage_, thrown.what(), trials_.finished(""));
  } catch (...) {  // such as a number
    const std::string what = "it threw something that is no std::exception";
    if (in_a_trial_) throw;
    if (way_.empty()) throw Error("strategy " + stage_ + " ended with an exception: " + what);
    tell_exception(finding, stage_, what, trials_.finished(""));
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
  auto conditions = exit_policy(context_.job);
  if (context_.job.tuning.timeout == 0) conditions.push_back(first_success());
  const auto made = search::samplers::table().make(sampler);
  bool all_possible = true;
  const auto possible = possible_points(*made, [&](const search::Point& point) {
    const bool is_possible = tune::why_impossible(*context_.trial_context, point).empty();
    all_possible = all_possible && is_possible;
    return is_possible;
  });
  auto prior = search::fitting(context_.earlier, context_.space);
  std::vector<search::Point> first{context_.space.nearest_to(Json::object())};
  for (auto& point : search::best_points(prior, context_.study.directions().front())) {
    if (std::ranges::find(first, point) == first.end()) first.push_back(std::move(point));
  }
  const search::RunOptions options{.seed = context_.job.seed,
                                   .n_jobs = static_cast<size_t>(context_.job.n_jobs),
                                   .first = std::move(first),
                                   .stage = stage_,
                                   .prior = std::move(prior),
                                   .listener = context_.listener,
                                   .stop = context_.stop,
                                   .begin = context_.begin};
  Finding finding{search::run(options, context_.study, context_.space, *possible, conditions, context_.objective)};
  if (finding.end == search::RunResult::End::exhausted && !all_possible)
    finding.reason = "no configuration is found that quantizes something and was not tried";
  for (const auto& trial : context_.study.trials()) {
    if (!trial.finished() || trial.user_attributes.value(search::attribute::stage, std::string()) != stage_) continue;
    const auto begun = std::ranges::find(options.first, trial.point);
    tell(begun == options.first.begin() ? "default configuration"
         : begun == options.first.end() ? "chosen by sampler " + sampler
                                        : "among the best of an earlier study");
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

search::RunResult cut_short(const StrategyContext& context, const search::Sequence& sequence,
                            const search::StopConditions& conditions) {
  const auto seconds = time_limit_of(conditions);
  if (!context.stop.stop_requested() && seconds)
    return sequence.finished("time_limit of " + Json(*seconds).dump() + " s reached");
  search::RunResult result = sequence.finished("interrupted");
  result.end = search::RunResult::End::interrupted;
  return result;
}

}  // namespace quasar::tune
