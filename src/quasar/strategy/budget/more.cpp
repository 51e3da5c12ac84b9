#include "quasar/strategy/budget/more.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/digits.hpp"

namespace quasar::tune {
namespace {

constexpr double one_tenth = 0.1, megabyte = 1e6, millisecond = 1;
constexpr double most_seconds = 5;  // for each question

struct Step {
  std::string name;
  double by = 0;  // in the cost's own unit
};

std::vector<Step> steps_of(const std::string& cost, const CostBound& bound) {
  std::vector<Step> out;
  const double to_float = bound.in_float - bound.most;
  if (bound.in_float <= 0 || to_float >= one_tenth * bound.most) {
    out.push_back({"a tenth", one_tenth * bound.most});
  } else if (to_float > 0) {
    out.push_back({"as much as float", to_float});
  }
  const double unit = cost == "bytes" ? megabyte : millisecond;
  if (bound.most >= unit && bound.most + unit <= bound.in_float) out.push_back({cost == "bytes" ? "1 MB" : "1 ms", unit});
  return out;
}

}  // namespace

Json more_of_costs(const AssignmentProblem& problem, const Assignment& now, const BudgetLoss& loss,
                   const std::map<std::string, CostBound>& bounds) {
  Json out = Json::array();
  const double is = problem.loss.of(now);
  if (is <= 0) return out;
  for (size_t i = 0; i < problem.costs.size(); i++) {
    const std::string& name = problem.costs[i].name;
    const auto bound = bounds.find(name);
    if (bound == bounds.end() || !std::isfinite(problem.costs[i].most) || bound->second.most <= 0) continue;
    for (const Step& step : steps_of(name, bound->second)) {
      AssignmentProblem wider = problem;
      wider.costs[i].most *= 1 + step.by / bound->second.most;  // estimates of time have a pace of their own
      const auto found = best_assignment(wider, {}, most_seconds);
      if (!found) continue;
      const double share = std::max(0.0, 1 - loss.as_loss(found->loss) / loss.as_loss(is));
      out.push_back({{"more_of", name}, {"by", step.by}, {"step", step.name}, {"takes_off", "loss"}, {"share", share}});
    }
  }
  return out;
}

Json more_of_loss(const AssignmentProblem& problem, const Assignment& now, const BudgetLoss& loss, double tolerable) {
  const BoundedCost& cost = problem.costs[*problem.least];
  const double is = cost.of(now);
  AssignmentProblem wider = problem;
  wider.most_loss = loss.as_estimate((1 + one_tenth) * tolerable);
  const auto found = best_assignment(wider, {}, most_seconds);
  if (!found || is <= 0) return Json::array();
  return Json::array({{{"more_of", "loss"},
                       {"by", one_tenth * tolerable},
                       {"step", "a tenth"},
                       {"takes_off", cost.name},
                       {"share", std::max(0.0, 1 - cost.of(found->assignment) / is)}}});
}

std::string in_words_of_more(const Json& one) {
  const std::string off = one["takes_off"];
  return one["step"].get<std::string>() + " more of " + one["more_of"].get<std::string>() + " would take an estimated " +
         in_digits(100 * one["share"].get<double>(), 2) + " % off " + (off == "loss" ? "the loss" : off);
}

std::optional<double> least_of(const AssignmentProblem& problem, size_t cost) {
  const auto found = cheapest_assignment(problem, cost);
  return found ? std::optional(problem.costs[cost].of(*found)) : std::nullopt;
}

std::optional<double> told_least_latency(const AssignmentProblem& problem, const CostBound& bound, const Log& log) {
  const auto latency = std::ranges::find(problem.costs, "latency", &BoundedCost::name);
  if (latency == problem.costs.end()) return std::nullopt;
  const auto least = least_of(problem, static_cast<size_t>(latency - problem.costs.begin()));
  if (!least) return std::nullopt;
  const std::string fastest = "the fastest assignment is estimated to take " + in_digits(*least, 3) + " ms";
  if (*least <= bound.most) {
    tell(log, Level::info, fastest);
  } else {
    tell(log, Level::warning,
         "budget.latency is " + in_digits(bound.most, 3) + " ms, but " + fastest + " (float: " + in_digits(bound.in_float, 3) +
             " ms): most likely no model keeps it; trials look for the nearest");
  }
  return least;
}

void Gaps::add(const BestAssignment& found) {
  assignments++;
  if (!found.is_proven) unproven++;
  widest = std::max(widest, found.gap);
}

std::string in_words(const Gaps& gaps) {
  const std::string of = "integer programs: " + std::to_string(gaps.assignments) + " assignments, ";
  if (gaps.unproven == 0) return of + "each proved to be the best by the estimates (gap 0 %)";
  return of + std::to_string(gaps.unproven) + " of them not proved in time (gap at most " + in_digits(100 * gaps.widest, 2) +
         " %)";
}

}  // namespace quasar::tune
