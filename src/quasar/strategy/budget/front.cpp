#include "quasar/strategy/budget/front.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/strategy/budget/loss.hpp"

namespace quasar::tune {
namespace {

std::set<std::string> costs_of(const Goals& goals) {
  std::set<std::string> out{"bytes"};  // of each trial, also where only time is bounded
  for (const auto& constraint : goals.constraints) {
    if (is_cost(constraint.metric)) out.insert(constraint.metric);
  }
  for (const auto& objective : goals.objectives) {
    if (is_cost(objective.metric)) out.insert(objective.metric);
  }
  return out;
}

}  // namespace

std::string judged_metric(const Aim& aim) {
  if (!aim.criterion) return aim.goals.objectives.front().metric;
  return aim.criterion->parts.size() == 1 ? aim.criterion->parts.front().metric : "loss";
}

Json budget_front(const StrategyContext& context) {
  const Aim& aim = context.job.aim;
  Json out = Json::object();
  for (const std::string& cost : costs_of(aim.goals)) {
    std::vector<std::pair<double, const search::Trial*>> all;
    for (const search::Trial& trial : context.study.trials()) {
      const Measures measures = measures_of(aim.goals, trial);
      if (measures.contains(cost) && !trial.is_duplicate()) all.emplace_back(measures.at(cost), &trial);
    }
    std::ranges::stable_sort(all, {}, [&](const auto& one) { return std::pair(one.first, lost_by(*one.second, context)); });
    Json list = Json::array();
    double least = HUGE_VAL;
    for (const auto& [is, trial] : all) {
      const double lost = lost_by(*trial, context);
      if (lost >= least) continue;
      least = lost;
      const Measures measures = measures_of(aim.goals, *trial);
      const auto judged = measures.find(judged_metric(aim));
      list.push_back({{"trial", trial->number}, {cost, is}, {"value", judged == measures.end() ? lost : judged->second}});
    }
    out[cost] = list;
  }
  return out;
}

void tell_budget_front(const StrategyContext& context) {
  const Json fronts = budget_front(context);
  for (const auto& [cost, list] : fronts.items()) {
    std::vector<std::string> parts;
    for (const Json& one : list)
      parts.push_back(in_digits(one[cost].get<double>(), 6) + ": " + in_digits(one["value"].get<double>(), 4) + " (trial " +
                      one["trial"].dump() + ")");
    tell(context.log, Level::info, "front, " + judged_metric(context.job.aim) + " by " + cost + ": " + joined(parts));
  }
}

Json budget_bounds(const Aim& aim, const Budget& budget) {
  Json out = Json::object();
  for (const auto& constraint : constraints_of(budget)) out[constraint.metric] = constraint.value;
  if (aim.criterion) out["accuracy"] = to_json(*aim.criterion);
  return out;
}

}  // namespace quasar::tune
