// The accuracy criterion: how much of the float model's score a quantized model may lose. Intel Neural Compressor's keys.
#pragma once

#include "quasar/base/json.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::tune {

// {higher_is_better: true, criterion: relative | absolute, tolerable_loss: 0.01}
struct AccuracyCriterion {
  search::Direction direction = search::Direction::maximize;
  bool relative = true;
  double tolerable_loss = 0.01;  // in the metric's unit, or as a share of the float model's absolute value
};

// Throws Error for unknown keys and wrong values, and when higher_is_better contradicts the metric's own direction.
AccuracyCriterion parse_criterion(const Json& words, const std::string& metric, search::Direction own);

// The worst value that still meets the criterion: baseline -/+ tolerable_loss, or tolerable_loss · |baseline|. The absolute value
// makes a negative baseline work; with a baseline of zero a relative criterion asks for exactly zero.
double goal_of(const AccuracyCriterion& criterion, double baseline);

// Throws Error for a criterion that nothing but the float model itself could meet: relative to a baseline of zero (a distance),
// or a baseline that is infinite (psnr, sqnr).
void check_reachable(const AccuracyCriterion& criterion, const std::string& metric, double baseline);

// Whether the value is as good as the goal; ties are, up to a few units in the last place (a mean of n samples is rounded).
bool meets(const AccuracyCriterion& criterion, double value, double goal);

}  // namespace quasar::tune
