// What assignments of precisions cost: bytes of the file, time of a run.
#pragma once

#include "quasar/strategy/budget/choices.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

// In bytes. Of models whose float file is smaller than 3 MB exact but for what three and more groups have in common: every group
// is written in every precision, and neighbours in every two. Below 16 MB every group is; beyond, the bits of its weights count.
// The exact size of an assignment is bytes_at(). Its bound is that of the job's budget; infinite: it
// has none.
BoundedCost bytes_of_assignments(const StrategyContext& context, const BudgetChoices& choices);

// In milliseconds of one thread, at the pace of the study: operators by themselves as profiles of the float model and of one
// model in each precision have them, and the changes of form between them. The bound is that of the job's budget; infinite: it
// has none.
BoundedCost latency_of_assignments(const StrategyContext& context, const BudgetChoices& choices);

// What the budget allows for a run; infinite: it has no such bound.
double most_milliseconds(const StrategyContext& context);

// What a trial took; 0: not measured.
double milliseconds_of(const Measures& measures, const StrategyContext& context);

}  // namespace quasar::tune
