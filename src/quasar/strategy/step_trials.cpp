#include "quasar/strategy/step_trials.hpp"

#include <algorithm>

#include "quasar/search/tracker.hpp"
#include "quasar/strategy/exit_policy.hpp"

namespace quasar::tune {
namespace {

class FirstSuccess final : public search::StopCondition {
 public:
  // `known`: how many there were before; none: it does not act.
  explicit FirstSuccess(std::shared_ptr<const std::optional<size_t>> known) : known_(std::move(known)) {}

  std::optional<std::string> met(const search::Progress& progress) const override {
    return *known_ && progress.candidates > **known_ ? std::optional<std::string>(goal_met) : std::nullopt;
  }

 private:
  std::shared_ptr<const std::optional<size_t>> known_;
};

search::StopConditions with_first_success(const Limits& limits, std::shared_ptr<const std::optional<size_t>> known) {
  auto conditions = exit_policy(limits);
  conditions.push_back(std::make_unique<FirstSuccess>(std::move(known)));
  return conditions;
}

}  // namespace

std::unique_ptr<search::StopCondition> first_success() {
  return std::make_unique<FirstSuccess>(std::make_shared<std::optional<size_t>>(0));
}

StepTrials::StepTrials(const StrategyContext& context, const std::string& stage)
    : context_(context),
      stage_(stage),
      sequence_({.seed = context.job.seed,
                 .n_jobs = static_cast<size_t>(context.job.n_jobs),
                 .stage = stage,
                 .listener = context.listener,
                 .stop = context.stop,
                 .begin = context.begin},
                context.study, context.space, with_first_success(context.job.limits, successes_), context.objective) {}

size_t StepTrials::at_once(size_t left, size_t nodes) {
  constexpr size_t most = 256, most_choices = 1'000'000;  // choices: an operator's, in all configurations together
  return std::clamp<size_t>(std::min(left, most_choices / std::max<size_t>(1, nodes)), 1, most);
}

std::span<const search::Point> StepTrials::to_first_success(std::span<const search::Point> points,
                                                            std::span<const std::string> steps) {
  const auto up_to_success = [&] {
    const auto success = success_among(points);
    return success ? points.first(*success + 1) : points;
  };
  points = up_to_success();
  if (points.size() <= 1) return points;
  *successes_ = search::Tracker(context_.study.trials(), stage_, context_.study.directions()).progress(0).candidates;
  try {
    sequence_.evaluate(points, steps);
  } catch (const search::SequenceOver& over) {
    successes_->reset();
    if (over.result.reason != goal_met || over.result.end != search::RunResult::End::condition) throw;
  }
  successes_->reset();
  return up_to_success();
}

std::optional<size_t> StepTrials::success_among(std::span<const search::Point> points) const {
  for (size_t i = 0; i < points.size(); ++i) {
    const search::Trial* const trial = find(points[i]);
    if (trial != nullptr && trial->is_candidate()) return i;
  }
  return std::nullopt;
}

}  // namespace quasar::tune
