// The goal in its parts: accuracy, which operators in float bring nearer, and costs, which grow with them.
#pragma once

#include <string>
#include <vector>

#include "quasar/job/job.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::tune {

// The values of the criterion's metrics, for a message: "L2 0.002"; of several metrics behind the loss that they make up: "loss
// 0.01: top1 0.98, cos 0.997".
std::string reached(const AccuracyCriterion& criterion, const Measures& values, const Measures& baseline);

// Whether the criterion and the constraints that are about metrics hold, whatever the costs. `measures` of a trial: empty where
// there are none, and then they do not hold.
bool is_accurate(const Job& job, const Measures& measures, const eval::Scores& reference);

// What of the accuracy does not hold, in words: "the accuracy criterion", "the constraint on cos (min 0.99, is 0.98)".
std::vector<std::string> missed_accuracy(const Job& job, const Measures& measures, const eval::Scores& reference);

// The same of costs: "the constraint on bytes (max 70000, is 78119)".
std::vector<std::string> missed_costs(const Job& job, const Measures& measures, const eval::Scores& reference);

// By how much the job's constraints, and its criterion where that is one of them, are exceeded: what a trial records
// (search::constraints_attribute). Throws std::out_of_range unless `measures` has every metric of can_be_judged().
std::vector<double> constraints_of(const Job& job, const Measures& measures, const eval::Scores& reference);

// Whether `measures` has all metrics that constraints_of() needs.
bool can_be_judged(const Job& job, const Measures& measures);

// What a value that misses the criterion is known to be, for a criterion about the objective alone: {"at_most": v} where higher
// is better, {"at_least": v} elsewhere; null for another criterion.
Json beyond_the_goal(const Job& job, const eval::Scores& reference);

// A user attribute of a trial that was given up early since it cannot meet the criterion: that criterion, as to_json() has it.
inline constexpr const char* missed_attribute = "missed";

// Whether a trial was given up early for a criterion that was stricter than the job's, or about something else: it may meet this
// one.
bool may_meet_now(const search::Trial& trial, const Job& job);

}  // namespace quasar::tune
