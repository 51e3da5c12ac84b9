#include "quasar/job/goals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quasar/base/as_written.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/eval/metric.hpp"

namespace quasar::tune {
namespace {

const std::vector<std::string> costs{"bytes", "latency", "relative_latency", "peak_memory"};
using Own = std::vector<eval::OwnMetric>;

const std::map<std::string, Bound> bounds{{"max_drop", Bound::max_drop}, {"max", Bound::max}, {"min", Bound::min}};

const Json& list_of(const Json& words, const std::string& key) {
  if (!words.is_array() || words.empty()) throw Error(key + " is " + words.dump() + ", but must be a list of mappings");
  for (const Json& entry : words) {
    if (!entry.is_object() || !entry.contains("metric"))
      throw Error(key + ": " + entry.dump() + " must be a mapping with 'metric', for example " +
                  (key == "objectives" ? "{metric: top1}" : "{metric: top1, max_drop: 0.01}"));
  }
  return words;
}

// The metric of an entry whose other keys are `known`, or options of the metric: {metric: mAP, truth: float, max_drop: 0.1}.
std::string metric_of(const Json& words, const std::string& key, const std::vector<std::string>& known, const Own& own) {
  const Json& metric = words.at("metric");
  Json with_options{{"name", metric}};
  std::string first;
  for (const auto& [name, value] : words.items()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    if (first.empty()) first = name;
    with_options[name] = value;
  }
  if (first.empty()) return metric_named(metric, key, own);
  const auto fail = [&](const std::string& why) {
    return Error(key + ": unknown key '" + first + "'; known: " + joined(known) + did_you_mean(first, known) + why);
  };
  if (!did_you_mean(first, known).empty()) throw fail("");
  if (!metric.is_string() || !eval::is_metric(metric.get<std::string>()))
    throw fail(", and options of metrics that are built in");
  try {
    return eval::metric_text(with_options, key);
  } catch (const Error& e) {
    throw fail(std::string(", and options of the metric: ") + e.what());
  }
}

Objective objective_of(const Json& words, const Own& own) {
  const std::vector<std::string> known{"metric", "direction"};
  Objective out{metric_of(words, "objectives", known, own), Direction::minimize};
  out.direction = direction_of(out.metric, own);
  for (const auto& [name, value] : words.items()) {
    if (name != "direction") continue;
    const char* way = out.direction == Direction::minimize ? "minimize" : "maximize";
    if (value != way) throw Error("objectives: " + out.metric + " is better when one can " + way + " it; leave 'direction' out");
  }
  return out;
}

Constraint constraint_of(const Json& words, const Own& own) {
  const std::vector<std::string> known{"metric", "max_drop", "max", "min"};
  const std::string metric = metric_of(words, "constraints", known, own);
  std::optional<Constraint> out;
  for (const auto& [name, value] : words.items()) {
    const auto bound = bounds.find(name);
    if (bound == bounds.end()) continue;  // the metric, and its options
    if (!value.is_number() || std::isnan(value.get<double>()))
      throw Error("constraints: " + name + " of " + metric + " is " + as_written(value) + ", but must be a number");
    if (out) throw Error("constraints: " + words.dump() + " has two bounds; write one entry for each");
    out = Constraint{metric, bound->second, value.get<double>()};
  }
  if (!out) throw Error("constraints: " + words.dump() + " has no bound; give max_drop, max or min");
  if (out->bound == Bound::max_drop && is_cost(metric)) {
    throw Error("constraints: max_drop is for metrics; a bound on " + metric + " is written {metric: " + metric + ", max: …}");
  }
  return *out;
}

}  // namespace

std::vector<Direction> Goals::directions() const {
  std::vector<Direction> out;
  for (const Objective& objective : objectives) out.push_back(objective.direction);
  return out;
}

bool Goals::needs(const std::string& metric) const {
  const auto about = [&](const auto& goal) { return goal.metric == metric; };
  return std::ranges::any_of(objectives, about) || std::ranges::any_of(constraints, about);
}

bool is_cost(const std::string& metric) {
  return std::ranges::find(costs, metric) != costs.end();
}

bool is_own(const Goals& goals, const std::string& metric) {
  return std::ranges::any_of(goals.own, [&](const auto& own) { return own.name == metric; });
}

std::string metric_named(const Json& word, const std::string& key, const Own& own, Listed listed) {
  if (word.is_object()) return eval::metric_text(word, key);
  if (!word.is_string()) throw Error(key + ": " + word.dump() + " is not the name of a metric");
  const std::string name = word.get<std::string>();
  std::vector<std::string> names = eval::metrics::table().names();
  for (const auto& [metric, direction] : own) {
    if (metric == name) return name;
    names.push_back(metric);
  }
  for (const std::string& cost : costs) {
    if (normalized(cost) == normalized(name)) return cost;
    if (listed == Listed::costs_too) names.push_back(cost);
  }
  if (eval::is_metric(name)) return eval::metric_text(name, key);
  throw Error(key + ": unknown metric '" + name + "'; known: " + joined(names) + did_you_mean(name, names));
}

Direction direction_of(const std::string& metric, const Own& own) {
  if (is_cost(metric)) return Direction::minimize;
  const auto mine = std::ranges::find(own, metric, &eval::OwnMetric::name);
  const auto direction = mine != own.end() ? mine->direction : eval::make_metric(metric)->direction();
  return direction == Direction::maximize ? Direction::maximize : Direction::minimize;
}

Goals parse_goals(const Json& objectives, const Json& constraints, const std::vector<std::string>& metrics, const Own& own) {
  Goals out;
  out.own = own;
  if (objectives.is_null()) {
    out.objectives.push_back({metrics.front(), direction_of(metrics.front(), own)});
  } else {
    for (const Json& words : list_of(objectives, "objectives")) {
      Objective next = objective_of(words, own);
      const auto same = [&](const Objective& other) { return other.metric == next.metric; };
      if (std::ranges::any_of(out.objectives, same)) throw Error("objectives names " + next.metric + " twice");
      out.objectives.push_back(std::move(next));
    }
  }
  if (!constraints.is_null()) {
    for (const Json& words : list_of(constraints, "constraints")) out.constraints.push_back(constraint_of(words, own));
  }
  return out;
}

std::vector<std::string> scored(const Goals& goals, const std::vector<std::string>& metrics) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& metric) {
    if (!is_cost(metric) && std::ranges::find(out, metric) == out.end()) out.push_back(metric);
  };
  for (const Objective& objective : goals.objectives) add(objective.metric);
  for (const Constraint& constraint : goals.constraints) add(constraint.metric);
  for (const std::string& metric : metrics) add(metric);
  return out;
}

std::vector<double> values_of(const Goals& goals, const Measures& measures) {
  std::vector<double> out;
  for (const Objective& objective : goals.objectives) out.push_back(measures.at(objective.metric));
  return out;
}

double rounding_slack(double one, double other) {
  const double slack = 8 * std::numeric_limits<double>::epsilon() * std::max(std::abs(one), std::abs(other));
  return std::isfinite(slack) ? slack : 0;
}

double excess_over(double loss, double tolerable, double was, double is) {
  const double excess = loss - tolerable;
  return excess > 0 && excess <= rounding_slack(was, is) ? 0 : excess;
}

std::vector<double> excesses(const Goals& goals, const Measures& measures, const eval::Scores& reference) {
  std::vector<double> out;
  for (const auto& [metric, bound, value] : goals.constraints) {
    const double is = measures.at(metric);
    double unit = std::abs(value);
    double excess = bound == Bound::max ? excess_over(is, value, value, is) : excess_over(value, is, value, is);
    if (bound == Bound::max_drop) {
      const double was = reference.at(metric).value;
      excess = excess_over(direction_of(metric, goals.own) == Direction::maximize ? was - is : is - was, value, was, is);
      if (was != 0) unit = std::abs(was);
    }
    out.push_back(std::isfinite(unit) && unit > 0 ? excess / unit : excess);
  }
  return out;
}

Measures measures_of(const eval::Scores& scores) {
  Measures out;
  for (const auto& [name, score] : scores) out[name] = score.value;
  return out;
}

Measures measures_of(const Goals& goals, const search::Trial& trial) {
  Measures out;
  if (trial.state != search::State::complete) return out;
  const Json recorded = trial.user_attributes.value("metrics", Json::object());
  for (const auto& [name, value] : recorded.items()) {
    if (value.is_number()) out[name] = value.get<double>();
  }
  for (size_t i = 0; i < goals.objectives.size() && i < trial.values.size(); ++i)
    out[goals.objectives[i].metric] = trial.values[i];  // infinite values are no numbers in JSON
  return out;
}

Json to_json(const Goals& goals) {
  Json out{{"objectives", Json::array()}, {"constraints", Json::array()}};
  for (const auto& [metric, direction] : goals.objectives) {
    out["objectives"].push_back({{"metric", metric}, {"direction", direction == Direction::minimize ? "minimize" : "maximize"}});
  }
  for (const Constraint& constraint : goals.constraints) {
    for (const auto& [name, bound] : bounds) {
      if (bound == constraint.bound) out["constraints"].push_back({{"metric", constraint.metric}, {name, constraint.value}});
    }
  }
  return out;
}

}  // namespace quasar::tune
