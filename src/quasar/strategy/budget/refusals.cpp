#include "quasar/strategy/budget/refusals.hpp"

#include "quasar/base/digits.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/search/models/integer_program.hpp"
#include "quasar/strategy/budget/costs.hpp"

namespace quasar::tune {
namespace {

std::string percent_of(double part, double whole) {
  return in_digits(100 * part / whole, 3) + " %";
}

}  // namespace

void check_budget(const Job& job, const Spaces& spaces) {
  if (!job.budget)
    throw Error("strategy budget needs the key budget: what the model may cost, such as budget: {bytes: 0.3} or {latency: 4 ms}");
  if (spaces.each.size() > 1) throw Error("strategy budget searches one space; give search_space instead of search_spaces");
  if (job.tuning.approach != Approach::static_ranges)
    throw Error("strategy budget is for static quantization; leave approach out");
  const bool small = !job.budget->least.empty();
  if ((job.aim.criterion && !small) || !job.aim.tolerance.is_null())
    throw Error(
        "strategy budget makes the loss as small as the budget allows: accuracy_criterion and search_metric_tolerance would "
        "have no effect; give budget.accuracy for a cost as small as an accuracy allows, or take strategy repair for the "
        "fewest operators in float");
  if (job.speed_gate) throw Error("strategy budget decides itself which operators stay in float; leave speed_gate out");
  if (job.aim.goals.objectives.size() > 1 || (is_cost(job.aim.goals.objectives.front().metric) && !small))
    throw Error("strategy budget has one objective, a metric, which is best within the budget; leave objectives out");
  if (!search::has_integer_solver()) throw search::NoSolver();
}

void expect_budget_possible(const Beginning& begin) {
  const Budget& budget = *begin.job.budget;
  const double whole_ms = begin.float_ms;
  if (budget.milliseconds && *budget.milliseconds > whole_ms)
    throw Error("budget.latency is " + in_digits(*budget.milliseconds) +
                " ms, more than the float model takes here: " + in_digits(whole_ms) + " ms");
  if (!budget.bytes) return;
  const BudgetChoices choices(budget, begin.job.spaces.front(), begin.space, begin.model, begin.target);
  // At little cost first: most budgets are far above.
  if (bytes_at(choices.point_of(choices.fewest_bits()), begin.space, begin.variants, begin.target) <= *budget.bytes) return;
  const BudgetModels models{begin.model, begin.space, begin.variants, begin.target};
  const SmallestModel smallest = smallest_model(models, choices, bytes_of_assignments(models, choices));
  if (smallest.least <= *budget.bytes) return;
  const double least = smallest.bytes;
  const double whole = begin.float_bytes;
  throw Error("budget.bytes is " + in_digits(*budget.bytes, 10) + " bytes (" + percent_of(*budget.bytes, whole) +
              " of float), but the smallest model has " + in_digits(least, 10) + " (" + percent_of(least, whole) +
              "), and float " + in_digits(whole, 10));
}

}  // namespace quasar::tune
