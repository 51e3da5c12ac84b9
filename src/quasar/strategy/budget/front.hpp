// What strategy `budget` shows of its trials: accuracy against cost.
#pragma once

#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

// What the loss of a trial is about: the objective, or the accuracy that the budget bounds; "loss" of several metrics.
std::string judged_metric(const Aim& aim);

// The trials that none beats in loss and in a cost, for bytes and each other cost that counts: {cost: [{trial, cost, value}]}.
Json budget_front(const StrategyContext& context);

// The same for the log, one line a cost.
void tell_budget_front(const StrategyContext& context);

// The bounds of the budget by name, and its `accuracy` where it has one.
Json budget_bounds(const Aim& aim, const Budget& budget);

}  // namespace quasar::tune
