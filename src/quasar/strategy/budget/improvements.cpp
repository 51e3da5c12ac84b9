#include "quasar/strategy/budget/improvements.hpp"

#include <algorithm>
#include <limits>

#include "quasar/job/precision.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/strategy/repair_notes.hpp"

namespace quasar::tune {

size_t improvements_of(const StrategyContext& context, const search::Point& point) {
  size_t out = 0;
  for (const auto& parameter : context.space.parameters()) {
    if (parameter.name.starts_with(precision_of("")) || !context.space.is_active(parameter, point)) continue;
    for (const Json& choice : choices_of(parameter)) {
      const std::pair<std::string, Json> change(parameter.name, choice);
      if (choice != *point.find(parameter.name) &&
          why_impossible(*context.trial_context, changed(context.space, point, std::span(&change, 1))).empty())
        out++;
    }
  }
  return out;
}

KeptTrials::KeptTrials(const Limits& limits, std::optional<int64_t> most, size_t kept) : models_(trial_limit(limits).models) {
  if (!most) return;
  const size_t all = static_cast<size_t>(*most);
  before_end_ = all - std::min(kept, all / 4);
}

void KeptTrials::count(const search::Trial& trial) {
  if (!models_ || !trial.is_duplicate()) counted_.insert(trial.number);
}

size_t KeptTrials::left() const {
  if (!before_end_) return std::numeric_limits<size_t>::max();
  return *before_end_ - std::min(*before_end_, counted_.size());
}

void try_improvements(const StrategyContext& context, search::Sequence& sequence, const search::Trial& best,
                      const std::function<void(const search::Trial& trial, const Json& change)>& take, size_t& left_out) {
  left_out = improvements_of(context, best.point);
  for (const auto& parameter : context.space.parameters()) {
    if (parameter.name.starts_with(precision_of("")) || !context.space.is_active(parameter, best.point)) continue;
    for (const Json& choice : choices_of(parameter)) {
      if (choice == *best.point.find(parameter.name)) continue;
      const std::pair<std::string, Json> change(parameter.name, choice);
      const search::Point point = changed(context.space, best.point, std::span(&change, 1));
      if (!why_impossible(*context.trial_context, point).empty()) continue;
      take(sequence.evaluate(point, "improve"), Json{{parameter.name, choice}});
      left_out -= std::min<size_t>(left_out, 1);
    }
  }
  left_out = 0;
}

}  // namespace quasar::tune
