// What assignments of precisions lose: squared distances of the model's outputs from the float model's, by effects of single
// groups and of pairs of them, and what trials have shown.
#pragma once

#include <vector>

#include "quasar/strategy/budget/choices.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

class BudgetLoss {
 public:
  // Measures single groups and pairs on some calibration samples, by one model with switches (sensitivity/joint_errors.hpp).
  // Pairs: neighbours, and all of them where there are few groups. Both outlive this. Throws ToggledModelFailed where operators
  // cannot be switched or outputs cannot be compared.
  BudgetLoss(const StrategyContext& context, const BudgetChoices& choices);

  // The estimate, with all that was learned.
  const InParts& parts() const { return parts_; }
  size_t pairs() const { return measured_.pairs.size(); }
  size_t samples() const { return samples_; }
  // √ of what a group loses alone.
  double alone(size_t group, size_t choice) const;

  // A trial of this assignment lost so much: the objective's distance from the float model's value. Groups that are like those of
  // earlier trials get what their estimates were wrong by: a Gaussian process whose mean is the measured estimate, and whose
  // effects of single groups are uncertain: in proportion to their size, and by a share of what trials lose.
  void learn(const Assignment& assignment, double loss);

  // What parts() gives, as a loss of trials; before the first one: as the distance of outputs.
  double as_loss(double estimate) const;
  // The way back; infinite as long as no trial has lost anything, as what estimates mean in its unit is unknown then.
  double as_estimate(double loss) const;

 private:
  InParts measure(const StrategyContext& context, const BudgetChoices& choices);
  double uncertainty(size_t group, size_t choice) const;  // of a single effect
  double likeness(const Assignment& a, const Assignment& b) const;

  struct Seen {
    Assignment assignment;
    double squared;
  };
  const bool squares_;  // losses are distances, whose squares add up; else of a share or a similarity, which add up themselves
  size_t samples_ = 0;
  double unit_ = 1;  // a trial's loss (or its square) in terms of the estimate
  InParts measured_, parts_;
  std::vector<Seen> seen_;
};

// By how much the trial's objective is worse than the float model's; with an accuracy in the budget: the loss of its criterion.
double lost_by(const search::Trial& trial, const StrategyContext& context);

}  // namespace quasar::tune
