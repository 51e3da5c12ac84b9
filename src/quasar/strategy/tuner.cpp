#include "quasar/strategy/tuner.hpp"

#include <algorithm>

#include "quasar/search/prior_trials.hpp"
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

}  // namespace

search::Trial Tuner::evaluate(const TuneConfig& config) {
  return evaluate(std::span<const TuneConfig>(&config, 1)).front();
}

std::vector<search::Trial> Tuner::evaluate(std::span<const TuneConfig> configs) {
  if (configs.empty()) return tried({}, false);  // a strategy that asks for nothing ends some time, too
  std::vector<search::Trial> trials;
  while (trials.size() < configs.size()) {
    const bool to_success = context().job.limits.exit.timeout == 0;
    const auto batch = configs.subspan(trials.size(), std::min(at_once(), configs.size() - trials.size()));
    std::ranges::move(tried(batch, to_success), std::back_inserter(trials));
    if (has_met_in_this_part() && to_success) throw Over{};
  }
  forget_steps();
  return trials;
}

size_t Tuner::at_once() const {
  return StepTrials::at_once(left(), space().nodes.size());
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
  std::vector<std::string> steps;  // of the points
  for (size_t i = 0; i < configs.size(); i++) {
    const TuneConfig& config = configs[i];
    search::Point point = point_of(config);
    const bool is_default = config.nodes.empty() && config.settings.empty();
    if (std::string why = is_default ? "" : tune::why_impossible(*context().trial_context, point); !why.empty()) {
      out.push_back(untried(std::move(point), why));
    } else {
      out.emplace_back();
      points.push_back(std::move(point));
      steps.push_back(step_ahead(i));
    }
  }
  std::span<const search::Point> counting = points;
  if (to_success) counting = in_trials(points, [&] { return trials_.to_first_success(points, steps); });
  const std::vector<search::Trial> finished = in_trials(counting, [&] { return trials_.evaluate(counting, steps); });
  auto next = finished.begin();
  for (auto trial = out.begin(); trial != out.end(); ++trial) {
    begin_step();
    if (trial->finished()) continue;  // untried
    if (next == finished.end()) {
      out.erase(trial, out.end());
      break;
    }
    *trial = *next++;
    note(*trial, round());
  }
  return out;
}

// Of a step that was cut off. Where timeout is 0, what comes after the first success counts for nothing.
void Tuner::note_finished(std::span<const search::Point> points) {
  for (const auto& point : points) {
    const search::Trial* const trial = trials_.find(point);
    if (trial == nullptr) continue;
    begin_step();
    note(*trial, round());
    if (met() && context().job.limits.exit.timeout == 0) return;
  }
}

Finding Tuner::run(const std::function<void(Tuner&)>& traverse) {
  Finding finding;
  try {
    finding.result = run_to_its_end(context(), trials_.sequence(), finding.warnings, [&] { return traversed(traverse); });
  } catch (const std::exception& thrown) {
    if (!is_the_strategys(thrown)) throw;
    tell_exception(finding, strategy_, thrown.what(), trials_.finished(""));
  } catch (...) {  // such as a number
    const std::string what = "it threw something that is no std::exception";
    if (in_a_trial_) throw;
    if (!has_a_loss()) throw Error("strategy " + strategy_ + " ended with an exception: " + what);
    tell_exception(finding, strategy_, what, trials_.finished(""));
  }
  const bool cut = finding.result.end == search::RunResult::End::condition && finding.result.reason != goal_met;
  if (met() && cut && !finding.failed && context().job.limits.exit.timeout == 0)  // while operators were asked to return
    finding.result.reason = std::string(goal_met) + "; " + finding.result.reason;
  conclude(finding);
  finding.story->instrumented_models = instrumented();
  return finding;
}

// -> why it ended
std::string Tuner::traversed(const std::function<void(Tuner&)>& traverse) {
  try {
    const auto& sizes = context().job.tuning.sampling_sizes;  // the outermost loop, as in Intel Neural Compressor
    for (size_t i = 0; i < std::max<size_t>(sizes.size(), 1); i++) {
      if (sizes.size() > 1) begin_round(sizes[i]);
      traverse(*this);
    }
  } catch (const Over&) {
    return goal_met;
  }
  if (met()) return goal_met;
  if (passed() >= context().space.valid().value_or(UINT64_MAX)) return "the tuning space is exhausted";
  return "strategy " + strategy_ + " is at its end, and " + shortfall();
}

// What was found stays when a strategy fails; a storage or a machine that fails is another matter, and so is a strategy that
// failed before anything was found.
bool Tuner::is_the_strategys(const std::exception& thrown) const {
  const auto* const error = dynamic_cast<const Error*>(&thrown);
  const bool ours =
      dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr || (error != nullptr && error->blame() != Blame::user);
  return !ours && !in_a_trial_ && has_a_loss();
}

Finding Tuner::sample(const std::string& sampler) {
  auto conditions = exit_policy(context().job.limits);
  if (context().job.limits.exit.timeout == 0) conditions.push_back(first_success());
  const auto made = search::samplers::table().make(sampler);
  bool all_possible = true;
  const auto possible = possible_points(*made, [&](const search::Point& point) {
    const bool is_possible = tune::why_impossible(*context().trial_context, point).empty();
    all_possible = all_possible && is_possible;
    return is_possible;
  });
  auto prior = search::fitting(context().earlier, context().space);
  std::vector<search::Point> first{context().space.nearest_to(Json::object())};
  for (auto& point : search::best_points(prior, context().study.directions().front())) {
    if (std::ranges::find(first, point) == first.end()) first.push_back(std::move(point));
  }
  const search::RunOptions options{.seed = context().job.seed,
                                   .n_jobs = static_cast<size_t>(context().job.n_jobs),
                                   .first = std::move(first),
                                   .stage = strategy_,
                                   .prior = std::move(prior),
                                   .listener = context().listener,
                                   .stop = context().stop,
                                   .begin = context().begin};
  Finding finding{search::run(options, context().study, context().space, *possible, conditions, context().objective)};
  if (finding.result.end == search::RunResult::End::exhausted && !all_possible)
    finding.result.reason = "no configuration is found that quantizes something and was not tried";
  for (const auto& trial : context().study.trials()) {
    if (!trial.finished() || trial.user_attributes.value(search::attribute::stage, std::string()) != strategy_) continue;
    const auto begun = std::ranges::find(options.first, trial.point);
    tell(begun == options.first.begin() ? "default configuration"
         : begun == options.first.end() ? "chosen by sampler " + sampler
                                        : "among the best of an earlier study");
    note(trial);
  }
  conclude(finding);
  finding.story->sampler = sampler;
  return finding;
}

}  // namespace quasar::tune
