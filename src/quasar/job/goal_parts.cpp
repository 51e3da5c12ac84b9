#include "quasar/job/goal_parts.hpp"

#include <algorithm>
#include <sstream>

namespace quasar::tune {
namespace {

bool meets_criterion(const Aim& aim, const Measures& measures, const eval::Scores& reference) {
  return !aim.criterion || excess_of(*aim.criterion, measures, measures_of(reference)) <= 0;
}

// The constraints that do not hold; those on what was not measured are among them.
std::vector<Constraint> broken(const Goals& goals, const Measures& measures, const eval::Scores& reference) {
  std::vector<Constraint> out;
  for (const auto& constraint : goals.constraints) {
    Goals one;
    one.own = goals.own;
    one.constraints = {constraint};
    if (!measures.contains(constraint.metric) || excesses(one, measures, reference).front() > 0) out.push_back(constraint);
  }
  return out;
}

std::string in_words(const Constraint& constraint, const Measures& measures) {
  const char* const bound = constraint.bound == Bound::max ? "max" : constraint.bound == Bound::min ? "min" : "max_drop";
  std::ostringstream out;
  out.precision(10);
  out << "the constraint on " << constraint.metric << " (" << bound << " " << constraint.value;
  if (const auto is = measures.find(constraint.metric); is != measures.end()) out << ", is " << is->second;
  out << ")";
  return out.str();
}

}  // namespace

bool criterion_is_constraint(const Aim& aim) {
  return aim.criterion &&
         (aim.criterion->parts.size() > 1 || aim.criterion->parts.front().metric != aim.goals.objectives.front().metric);
}

std::vector<std::string> missed_accuracy(const Aim& aim, const Measures& measures, const eval::Scores& reference) {
  std::vector<std::string> out;
  if (!meets_criterion(aim, measures, reference)) out.emplace_back(accuracy_criterion_in_words);
  for (const auto& constraint : broken(aim.goals, measures, reference)) {
    if (!is_cost(constraint.metric)) out.push_back(in_words(constraint, measures));
  }
  return out;
}

std::vector<std::string> missed_costs(const Aim& aim, const Measures& measures, const eval::Scores& reference) {
  std::vector<std::string> out;
  for (const auto& constraint : broken(aim.goals, measures, reference)) {
    if (is_cost(constraint.metric)) out.push_back(in_words(constraint, measures));
  }
  return out;
}

std::vector<double> constraints_of(const Aim& aim, const Measures& measures, const eval::Scores& reference) {
  std::vector<double> out = excesses(aim.goals, measures, reference);
  if (criterion_is_constraint(aim)) out.push_back(excess_of(*aim.criterion, measures, measures_of(reference)));
  return out;
}

bool can_be_judged(const Aim& aim, const Measures& measures) {
  const auto known = [&](const auto& part) { return measures.contains(part.metric); };
  return std::ranges::all_of(aim.goals.constraints, known) &&
         (!criterion_is_constraint(aim) || std::ranges::all_of(aim.criterion->parts, known));
}

std::string reached(const AccuracyCriterion& criterion, const Measures& values, const Measures& baseline) {
  std::ostringstream out;
  if (criterion.parts.size() > 1) out << "loss " << loss_of(criterion, values, baseline) << ": ";
  const char* comma = "";
  for (const auto& part : criterion.parts) {
    const auto known = values.find(part.metric);
    if (known == values.end()) continue;
    out << comma << part.metric << " " << known->second;
    comma = ", ";
  }
  return out.str();
}

bool is_accurate(const Aim& aim, const Measures& measures, const eval::Scores& reference) {
  return !measures.empty() && missed_accuracy(aim, measures, reference).empty();
}

Json beyond_the_goal(const Aim& aim, const eval::Scores& reference) {
  if (!aim.criterion || aim.criterion->parts.size() != 1) return nullptr;
  const auto& [metric, direction, weight] = aim.criterion->parts.front();
  if (metric != aim.goals.objectives.front().metric || !reference.contains(metric)) return nullptr;
  const double was = reference.at(metric).value;
  const double tolerable = aim.criterion->tolerable_in_units(was);
  if (direction == Direction::maximize) return {{"at_most", was - tolerable}};
  return {{"at_least", was + tolerable}};
}

bool may_meet_now(const search::Trial& trial, const Aim& aim) {
  Json missed = trial.user_attributes.value(missed_attribute, Json());
  if (trial.state != search::State::pruned || !missed.is_object()) return false;
  if (!aim.criterion) return true;
  Json now = to_json(*aim.criterion);
  const Json tolerated = missed.value("tolerable_loss", Json()), tolerable = now["tolerable_loss"];
  missed.erase("tolerable_loss");
  now.erase("tolerable_loss");
  return missed != now || !tolerated.is_number() || tolerated < tolerable;
}

}  // namespace quasar::tune
