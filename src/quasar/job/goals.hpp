// What a trial is judged by: objectives, and constraints that it must keep.
//
//   objectives: [{metric: top1}, {metric: latency}]
//   constraints: [{metric: top1, max_drop: 0.01}, {metric: bytes, max: 1000000}]
//
// A metric is one of eval/metrics, one that the user's own evaluator gives, or what running the model costs: bytes (of the file),
// latency (ms, median of one thread), relative_latency (how many times as long as the float model), and peak_memory (bytes of
// weights and live tensors, from runtime::peak_memory). Costs are minimized.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/eval/evaluate.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::tune {

struct Objective {
  std::string metric;
  Direction direction;
};

enum class Bound { max_drop, min, max };  // max_drop: worse than the float model by at most this, in the metric's direction

struct Constraint {
  std::string metric;
  Bound bound;
  double value;
};

struct Goals {
  std::vector<Objective> objectives;  // at least one; the first decides what is best
  std::vector<Constraint> constraints;
  std::vector<eval::OwnMetric> own;  // what the user's evaluator gives

  std::vector<Direction> directions() const;
  bool needs(const std::string& metric) const;  // some objective or constraint is about it
};

// bytes, latency, relative_latency or peak_memory.
bool is_cost(const std::string& metric);

// One that the user's evaluator gives.
bool is_own(const Goals& goals, const std::string& metric);

// A metric's canonical name, whosever it is, and its direction. Throws Error, which begins with `key` and lists what there is,
// for an unknown one.
enum class Listed { costs_too, metrics };
std::string metric_named(const Json& word, const std::string& key, const std::vector<eval::OwnMetric>& own,
                         Listed listed = Listed::costs_too);
Direction direction_of(const std::string& metric, const std::vector<eval::OwnMetric>& own);

// Reads both keys. `metrics`: those of search_metric, the first of which is the objective when `objectives` is null. Throws Error
// for unknown metrics and keys, a metric that is an objective twice, a bound that is no number.
Goals parse_goals(const Json& objectives, const Json& constraints, const std::vector<std::string>& metrics,
                  const std::vector<eval::OwnMetric>& own = {});

// The metrics that candidates must be scored on: those of the goals, then the others of search_metric.
std::vector<std::string> scored(const Goals& goals, const std::vector<std::string>& metrics);

// The measured value of every metric that the goals name, by name.
using Measures = std::map<std::string, double>;

// One value per objective.
std::vector<double> values_of(const Goals& goals, const Measures& measures);

// What rounding may have made of the difference of two scores; 0 where one is infinite.
double rounding_slack(double one, double other);

// By how much the loss from `was` to `is`, whichever way is worse, exceeds what may be lost. A loss of exactly that much is none
// too many, whatever rounding makes of the difference: 0.97 − 0.96 is more than 0.01.
double excess_over(double loss, double tolerable, double was, double is);

// One number per constraint, at most 0 where it is kept: by what share of the bound (max_drop: of the float model's value) it is
// exceeded, so that bytes and accuracies may be added; where that is 0, by how much. `reference`: of the float model.
std::vector<double> excesses(const Goals& goals, const Measures& measures, const eval::Scores& reference);

// The values of scores by name.
Measures measures_of(const eval::Scores& scores);

// What a finished trial recorded; empty for one that failed or was given up.
Measures measures_of(const Goals& goals, const search::Trial& trial);

// The goals in words for messages and the study: {"objectives": […], "constraints": […]}.
Json to_json(const Goals& goals);

}  // namespace quasar::tune
