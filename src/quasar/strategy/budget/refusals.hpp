// What strategy `budget` refuses before it begins.
#pragma once

#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

// Strategy::check(). Throws Error for keys that contradict a budget.
void check_budget(const Job& job, const Spaces& spaces);

// Strategy::expect_possible(): the smallest model that this could make must fit. Throws Error where it does not.
void expect_budget_possible(const Beginning& begin);

}  // namespace quasar::tune
