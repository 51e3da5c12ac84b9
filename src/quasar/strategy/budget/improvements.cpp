#include "quasar/strategy/budget/improvements.hpp"

#include "quasar/job/precision.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/strategy/repair_notes.hpp"

namespace quasar::tune {

void try_improvements(const StrategyContext& context, search::Sequence& sequence, const search::Trial& best,
                      const std::function<void(const search::Trial& trial, const Json& change)>& take) {
  for (const auto& parameter : context.space.parameters()) {
    if (parameter.name.starts_with(precision_of("")) || !context.space.is_active(parameter, best.point)) continue;
    for (const Json& choice : choices_of(parameter)) {
      if (choice == *best.point.find(parameter.name)) continue;
      const std::pair<std::string, Json> change(parameter.name, choice);
      const search::Point point = changed(context.space, best.point, std::span(&change, 1));
      if (!why_impossible(*context.trial_context, point).empty()) continue;
      take(sequence.evaluate(point, "improve"), Json{{parameter.name, choice}});
    }
  }
}

}  // namespace quasar::tune
