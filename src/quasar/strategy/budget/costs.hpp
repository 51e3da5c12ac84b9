// What assignments of precisions cost: bytes of the file, time of a run.
#pragma once

#include "quasar/strategy/budget/choices.hpp"
#include "quasar/strategy/budget/loss.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

// What models are made from; all of it outlives this.
struct BudgetModels {
  const graph::Model& model;
  const search::Space& space;
  Variants& variants;
  const quant::Target& target;
};
BudgetModels models_of(const TrialContext& context);

// In bytes, not bounded. Of models whose float file is smaller than 3 MB exact but for what three and more groups have in common:
// every group is written in every precision, and neighbours in every two. Below 16 MB every group is; beyond, the bits of its
// weights count. The exact size of an assignment is bytes_at().
BoundedCost bytes_of_assignments(const BudgetModels& models, const BudgetChoices& choices);

// The smallest model that is known.
struct SmallestModel {
  Assignment assignment;
  double bytes = 0;  // of its file
  double least = 0;  // none is below this: its own bytes where those of all others are as good as exact, else the weights alone
};
// The assignment of least bytes by `bytes`, as far as these are exact with what changes of single groups save besides, or that of
// the fewest bits, whichever is written in less.
SmallestModel smallest_model(const BudgetModels& models, const BudgetChoices& choices, const BoundedCost& bytes);

// In milliseconds of one thread, at the pace of the study: operators by themselves as profiles of the float model and of one
// model in each precision have them, and the changes of form between them. The bound is that of the job's budget; infinite: it
// has none.
BoundedCost latency_of_assignments(const StrategyContext& context, const BudgetChoices& choices);

// What the budget allows for a run; infinite: it has no such bound.
double most_milliseconds(const StrategyContext& context);

// What a trial took; 0: not measured.
double milliseconds_of(const Measures& measures, const StrategyContext& context);

// What a little more of what is bounded would bring (more.hpp), of the best assignment.
Json more_within(const StrategyContext& context, const AssignmentProblem& problem, const Assignment& best,
                 const BudgetLoss& loss);

}  // namespace quasar::tune
