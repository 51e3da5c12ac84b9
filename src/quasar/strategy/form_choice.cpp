#include "quasar/strategy/form_choice.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "quasar/trial/quality.hpp"

namespace quasar::tune {
namespace {

using Condition = std::function<bool(const search::Trial&)>;

bool is_faster_than_float(const Spaces& spaces, const search::Point& point) {
  const auto own = spaces.time_of(point);
  return own && *own * form_noise < 1;
}

// Measured, and not faster.
bool gains_no_time(const Spaces& spaces, const search::Point& point) {
  return spaces.time_of(point) && !is_faster_than_float(spaces, point);
}

bool is_faster(const Spaces& spaces, const search::Point& point, const search::Point& other, double times) {
  const auto own = spaces.time_of(point), time = spaces.time_of(other);
  return own && time && *own * times < *time;
}

// nullptr: there is none that may win.
const search::Trial* best_of(const StrategyContext& context, const Condition& may_win) {
  const auto trials = context.study.trials();
  const auto counts = [](const search::Trial& trial) {
    return trial.state == search::State::complete && !trial.is_duplicate() && trial.values.size() == 1 && trial.violation() == 0;
  };
  const bool is_met = std::ranges::any_of(trials, [&](const auto& trial) { return counts(trial) && trial.is_candidate(); });
  const search::Trial* best = nullptr;
  for (const auto& trial : trials) {
    if (!counts(trial) || (is_met && !trial.is_candidate()) || !may_win(trial)) continue;
    const bool is_better = best == nullptr || search::better(trial.values[0], best->values[0], context.study.directions()[0]);
    const bool is_alike = best != nullptr && trial.values[0] == best->values[0];
    if (is_better || (is_alike && is_faster(context.spaces, trial.point, best->point, form_noise))) best = &trial;
  }
  return best;
}

// The best of those that quantize enough, where a slower form has to be better by a tenth; nullptr: there is none.
const search::Trial* nearest_of(const StrategyContext& context) {
  const auto whole = [&](const search::Trial& trial) { return !is_lesser(context.spaces, trial.point); };
  const search::Trial* nearest = best_of(context, whole);
  if (nearest == nullptr || !is_slower(context.spaces, nearest->point)) return nearest;
  const search::Trial* usual =
      best_of(context, [&](const auto& trial) { return whole(trial) && !is_slower(context.spaces, trial.point); });
  const bool pays = usual == nullptr || outweighs(nearest->values[0], usual->values[0], context.study.directions()[0]);
  return pays ? nearest : usual;
}

// What a trial gives way to since that gains; the trial itself: nothing does.
const search::Trial* faster_than(const StrategyContext& context, const search::Trial* trial) {
  const search::Trial* faster = best_of(context, [&](const auto& other) {
    return !is_lesser(context.spaces, other.point) && is_good(context, other) && gains(context.spaces, other.point, trial->point);
  });
  return faster == nullptr ? trial : faster_than(context, faster);
}

// What a trial that is not faster than float gives way to; the trial itself: nothing does.
const search::Trial* faster_than_float(const StrategyContext& context, const search::Trial* trial) {
  if (!gains_no_time(context.spaces, trial->point)) return trial;
  const search::Trial* faster = best_of(context, [&](const auto& other) {
    return !is_lesser(context.spaces, other.point) && is_faster_than_float(context.spaces, other.point);
  });
  const bool wins = faster != nullptr &&
                    (is_good(context, *faster) || !outweighs(trial->values[0], faster->values[0], context.study.directions()[0]));
  return wins ? faster : trial;
}

}  // namespace

void choose_form(const StrategyContext& context, Finding& finding) {
  const search::Trial* best = context.study.best();
  if (best == nullptr || best->values.size() != 1) return;
  const search::Trial* chosen = nearest_of(context);
  if (chosen != nullptr) {
    const search::Trial* nearest = chosen;
    chosen = faster_than_float(context, faster_than(context, nearest));
    if (gains(context.spaces, chosen->point, nearest->point) && !gains_no_time(context.spaces, nearest->point))
      finding.nearer = nearest->number;
  }
  if (chosen == nullptr) chosen = best_of(context, [](const auto&) { return true; });
  if (chosen == nullptr || chosen->number == best->number) return;
  finding.winner = chosen->number;
  const bool misses = chosen->is_candidate() && !best->is_candidate();
  if (!misses && (is_lesser(context.spaces, best->point) || gains_no_time(context.spaces, best->point)))
    finding.in_need = best->number;
}

bool is_good(const StrategyContext& context, const search::Trial& trial) {
  return plain_word(context.job.aim.goals.objectives.front().metric, trial.values[0]) == "good";
}

bool is_lesser(const Spaces& spaces, const search::Point& point) {
  const Json* form = point.find("form");
  return form != nullptr && form->is_string() && spaces.lesser_forms.contains(form->get<std::string>());
}

bool is_slower(const Spaces& spaces, const search::Point& point) {
  const auto usual = spaces.form_times.find(Spaces::form_of(spaces.calibration.front()));
  const auto own = spaces.time_of(point);
  return usual != spaces.form_times.end() && own && *own > usual->second * form_noise;
}

bool gains(const Spaces& spaces, const search::Point& point, const search::Point& other) {
  return is_faster(spaces, point, other, form_gain);
}

bool outweighs(double value, double other, Direction direction) {
  constexpr double worth_it = 0.1;
  const bool maximize = direction == Direction::maximize;
  const double gain = maximize ? value - other : other - value;
  const double scale = maximize && other <= 1 && other >= 0 ? 1 - other : std::abs(other);
  return gain > 0 && gain >= worth_it * scale;
}

}  // namespace quasar::tune
