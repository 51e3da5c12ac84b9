// The accuracy criterion: how much of the float model's score a quantized model may lose. Intel Neural Compressor's keys, and
// `metrics` for several metrics that count together.
//
//   loss = Σ_m w_m · loss_m / Σ_m w_m,   loss_m = b_m − v_m (higher is better) or v_m − b_m,   relative: divided by |b_m|
//
// v_m: the candidate's value of metric m, b_m: the float model's. The criterion is met where loss ≤ tolerable_loss.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/job/goals.hpp"

namespace quasar::tune {

// {higher_is_better: true, criterion: relative | absolute, tolerable_loss: 0.01, metrics: {top1: 2, agreement: 1}}
struct AccuracyCriterion {
  struct Part {
    std::string metric;
    Direction direction = Direction::maximize;
    double weight = 1;
  };
  std::vector<Part> parts = {};  // at least one
  bool relative = true;
  double tolerable_loss = 0.01;  // in the metric's unit, or as a share of the float model's absolute value
  double tolerable_in_units(double baseline) const { return tolerable_loss * (relative ? std::abs(baseline) : 1); }
};

// The metrics that the words name in `metrics`, by their canonical names, in order; empty: they are about the objective. Throws
// Error for unknown metrics, costs, and weights that are no positive numbers.
std::vector<std::string> metrics_of_criterion(const Json& words, const std::vector<eval::OwnMetric>& own = {});

// `metric`: what the criterion is about where it names none. Throws Error for unknown keys and wrong values, and when
// higher_is_better contradicts the metric's own direction.
AccuracyCriterion parse_criterion(const Json& words, const std::string& metric, const std::vector<eval::OwnMetric>& own = {});

// What of the float model's scores is lost, by the formula above; negative: something is gained. With a baseline of zero a
// relative loss is 0 (nothing lost) or infinite; it is infinite, too, where a value is missing.
double loss_of(const AccuracyCriterion& criterion, const Measures& values, const Measures& baseline);

// By how much the tolerable loss is exceeded; at most 0 where the criterion is met. Ties meet it, up to a few units in the last
// place (a mean of n samples is rounded).
double excess_of(const AccuracyCriterion& criterion, const Measures& values, const Measures& baseline);

// Throws Error for a criterion that nothing but the float model itself could meet: relative to a baseline of zero (a distance),
// or a baseline that is infinite (psnr, sqnr).
void check_reachable(const AccuracyCriterion& criterion, const Measures& baseline);

// A warning where the float model has the worst value of a metric that is a share: 0. Nothing can be lost of it, and every model
// meets the goal. "" where it has not; of the user's own metrics nobody knows which value is the worst.
std::string empty_goal(const AccuracyCriterion& criterion, const Measures& baseline);

// What a model must reach, in words: "top1 at least 0.48", "L2 at most 0.01", "a loss of at most 0.01 of top1 and F1".
std::string goal_in_words(const AccuracyCriterion& criterion, const Measures& baseline);

// {metrics: {name: weight}, criterion: relative | absolute, tolerable_loss}: for reports.
Json to_json(const AccuracyCriterion& criterion);

}  // namespace quasar::tune
