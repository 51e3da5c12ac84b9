#include "quasar/trial/racing.hpp"

#include <algorithm>

namespace quasar::tune {
namespace {

constexpr size_t most_told = 20000;  // samples whose values go into the study, 200 kB then, with every new best trial

// Why no trial of this job can be given up early, in words; "": they can.
std::string why_not_raced(const Aim& aim) {
  const Goals& goals = aim.goals;
  const std::string& objective = goals.objectives.front().metric;
  if (goals.objectives.size() > 1) return "several objectives are compared by whole scores";
  if (!goals.constraints.empty()) return "constraints need whole scores";
  if (aim.criterion) return "the accuracy criterion needs whole scores";
  if (is_cost(objective) || is_own(goals, objective) || !eval::make_metric(objective)->best_possible())
    return objective + " is no mean over samples";
  return "";
}

std::unique_ptr<search::Pruner> made(const Named& pruner) {
  return search::pruners::table().make(pruner.name, pruner.options);
}

}  // namespace

std::string idle_pruner(const Job& job) {
  const std::string why = why_not_raced(job.aim);
  return job.words.contains("pruner") && made(job.pruner)->prunes() && !why.empty() ? "pruner has no effect: " + why : "";
}

std::unique_ptr<search::Racer> racer_of(const Aim& aim, const Named& pruner_keys, const Spaces& spaces,
                                        const search::Study& study, const eval::Evaluator& evaluator) {
  auto pruner = made(pruner_keys);
  if (!pruner->prunes() || !why_not_raced(aim).empty()) return nullptr;
  const std::string& objective = aim.goals.objectives.front().metric;
  const auto best = eval::make_metric(objective)->best_possible();
  search::RacerOptions options{.direction = study.directions().front(), .best_possible = *best};
  if (study.is_shared() && evaluator.samples() <= most_told) options.told = evaluator.samples();
  if (!aim.tolerance.is_null()) {
    const double sign = options.direction == Direction::minimize ? 1 : -1;
    const double was = evaluator.reference().at(objective).value, bound = was + sign * aim.tolerance.get<double>();
    options.good_enough = bound + sign * rounding_slack(was, bound);  // as excess_over() has it
  }
  if (spaces.form_times.size() > 1) {
    options.is_spared = [&spaces](const search::Point& point) {
      const auto own = spaces.time_of(point), usual = spaces.time_of({});
      if (!own || !usual) return false;
      const Json* algorithm = point.find("algorithms");
      const bool is_rounded = algorithm != nullptr && !algorithm->is_null();
      const auto gains = [&](const auto& form) { return *own * form_gain < form.second; };
      return *own * form_noise < *usual || (is_rounded && std::ranges::any_of(spaces.form_times, gains));
    };
  }
  return std::make_unique<search::Racer>(std::move(pruner), options, study.trials());
}

}  // namespace quasar::tune
