// Which parameters mattered: functional analysis of variance of the objective over the search space.
//   Hutter, Hoos, Leyton-Brown: An Efficient Approach for Assessing Hyperparameter Importance, ICML 2014
// A random forest predicts the objective; a parameter's share is the variance of the prediction averaged over all other
// parameters, as a part of the whole variance. Shares of interactions are what is missing to 1 before the shares are scaled.
#pragma once

#include <span>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::report {

struct Importance {
  std::string name;
  double share = 0;  // scaled: the shares of all parameters add to 1
};

struct ImportanceOptions {
  size_t objective = 0;
  size_t trees = 64;
  size_t trials = 2000;  // the latest so many count: a forest on more would tell nothing new
};

// Of complete trials, and of pruned ones by the value that they had when they were given up; sorted, the greatest first.
// Parameters that were always the same are left out, and those that were the same wherever others say that they are there; empty
// when there are fewer than four trials, or their values are all equal. What it brings that a parameter is there counts for the
// choices that decide it (only_if); where no parameter does, "not there" is one more value, as often as it occurred.
// Deterministic: the forest's seed is fixed.
std::vector<Importance> importance_of(std::span<const search::Trial> trials, const ImportanceOptions& options = {});

// [{name, share}] of the first objective.
Json importance_json(std::span<const search::Trial> trials);

}  // namespace quasar::report
