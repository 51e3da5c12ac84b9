// What one would gain by a wider budget, and what the estimates say of a bound that cannot be kept.
#pragma once

#include <optional>
#include <string>

#include "quasar/base/log.hpp"
#include "quasar/strategy/budget/assignment.hpp"
#include "quasar/strategy/budget/loss.hpp"

namespace quasar::tune {

// A bound and the float model's value, in the cost's own unit: bytes, or milliseconds.
struct CostBound {
  double most = 0, in_float = 0;
};

// What a tenth more of a bound (no more than float has), and one megabyte or millisecond more where the budget is above that and
// the float model is not reached, would bring by the estimates: [{more_of, by, step, takes_off, share}]. `now`: the best
// assignment. `bounds`: of each cost.
Json more_of_costs(const AssignmentProblem& problem, const Assignment& now, const BudgetLoss& loss,
                   const std::map<std::string, CostBound>& bounds);

// The same where a cost is made small, of the loss that is allowed.
Json more_of_loss(const AssignmentProblem& problem, const Assignment& now, const BudgetLoss& loss, double tolerable);

// "1 MB more of bytes would take an estimated 16 % off the loss": of an entry of these.
std::string in_words_of_more(const Json& one);

// The least that a cost can be by the estimates, whatever is lost; nullopt: the solver found none.
std::optional<double> least_of(const AssignmentProblem& problem, size_t cost);

// Of the cost `latency`, in milliseconds; a bound below it is a warning, as only trials tell for certain.
std::optional<double> told_least_latency(const AssignmentProblem& problem, const CostBound& bound, const Log& log);

// How sure the integer programs were of what they chose.
struct Gaps {
  size_t assignments = 0, unproven = 0;
  double widest = 0;

  void add(const BestAssignment& found);
};
std::string in_words(const Gaps& gaps);

}  // namespace quasar::tune
