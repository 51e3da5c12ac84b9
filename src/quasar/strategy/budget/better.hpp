// Which of two trials within a budget is the better one.
#pragma once

#include <cmath>

#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

class Better {
 public:
  explicit Better(const StrategyContext& context) : context_(context) {}

  // One that keeps the budget.
  void see(const search::Trial& trial);
  // By the loss; where a cost is made small by that. Times within half a per cent of the least one that was seen may differ by
  // noise: the nearer model is better. Not of each other, as a chain of small steps would lead to slow models.
  bool is_better(const search::Trial& one, const search::Trial& other) const;

 private:
  const StrategyContext& context_;
  double least_ = HUGE_VAL;  // of the cost
};

}  // namespace quasar::tune
