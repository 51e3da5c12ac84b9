// The goal in its parts: accuracy, which operators in float bring nearer, and costs, which grow with them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quasar/job/accuracy.hpp"
#include "quasar/job/goals.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::tune {

// What is good: what candidates are scored on, and what they must keep.
struct Aim {
  Goals goals;
  std::vector<std::string> metrics;                             // that candidates are scored on
  std::shared_ptr<const eval::CustomEvaluator> evaluator = {};  // gives goals.own; nullptr: built-in metrics only
  Json decoder = nullptr, output_weights = nullptr;             // of the model's outputs, as given; null: none
  Json head_decoder = nullptr;                                  // of a head that was recognized (with_head()); null: none
  Json tolerance = nullptr;                                     // search_metric_tolerance; null: none
  std::optional<AccuracyCriterion> criterion = {};
  double least_agreement = 0.9;  // of answers with the float model's, below which a result is poor
};

// Whether the criterion is a constraint of the study and not simply a bound on its objective: the objective is a cost, or the
// criterion is about several metrics or another one.
bool criterion_is_constraint(const Aim& aim);

// The values of the criterion's metrics, for a message: "L2 0.002"; of several metrics behind the loss that they make up: "loss
// 0.01: top1 0.98, cos 0.997".
std::string reached(const AccuracyCriterion& criterion, const Measures& values, const Measures& baseline);

// Whether the criterion and the constraints that are about metrics hold, whatever the costs. `measures` of a trial: empty where
// there are none, and then they do not hold.
bool is_accurate(const Aim& aim, const Measures& measures, const eval::Scores& reference);

inline constexpr const char* accuracy_criterion_in_words = "the accuracy criterion";

// What of the accuracy does not hold, in words: "the accuracy criterion", "the constraint on cos (min 0.99, is 0.98)".
std::vector<std::string> missed_accuracy(const Aim& aim, const Measures& measures, const eval::Scores& reference);

// The same of costs: "the constraint on bytes (max 70000, is 78119)".
std::vector<std::string> missed_costs(const Aim& aim, const Measures& measures, const eval::Scores& reference);

// By how much the constraints, and its criterion where that is one of them, are exceeded: what a trial records
// (search::constraints_attribute). Throws std::out_of_range unless `measures` has every metric of can_be_judged().
std::vector<double> constraints_of(const Aim& aim, const Measures& measures, const eval::Scores& reference);

// Whether `measures` has all metrics that constraints_of() needs.
bool can_be_judged(const Aim& aim, const Measures& measures);

// What a value that misses the criterion is known to be, for a criterion about the objective alone: {"at_most": v} where higher
// is better, {"at_least": v} elsewhere; null for another criterion.
Json beyond_the_goal(const Aim& aim, const eval::Scores& reference);

// A user attribute of a trial that was given up early since it cannot meet the criterion: that criterion, as to_json() has it.
inline constexpr const char* missed_attribute = "missed";

// Whether a trial was given up early for a criterion that was stricter than this one, or about something else: it may meet this
// one.
bool may_meet_now(const search::Trial& trial, const Aim& aim);

}  // namespace quasar::tune
