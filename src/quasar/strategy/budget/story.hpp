// What strategy `budget` tells of its search.
#pragma once

#include <optional>

#include "quasar/search/trial.hpp"
#include "quasar/strategy/budget/loss.hpp"
#include "quasar/strategy/story.hpp"

namespace quasar::tune {

struct BudgetFacts {
  std::vector<Story::Step> steps = {};
  Json more = Json::array();              // what a wider budget would bring
  std::optional<double> least_ms = {};    // that any assignment is estimated to take
  const search::Trial* winner = nullptr;  // or the best of those beyond the budget; null: there is none
  const BudgetLoss* loss = nullptr;       // null: nothing was measured
};

Story budget_story(const StrategyContext& context, const BudgetChoices& choices, const BudgetFacts& facts);

// What is chosen from, for the log.
std::string in_words(const BudgetChoices& choices, const BudgetLoss& loss);

}  // namespace quasar::tune
