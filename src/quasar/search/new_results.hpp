// Trials that have finished since the last look, so that a sampler reads every result once.
#pragma once

#include <vector>

#include "quasar/search/models/coordinates.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/search/sampler.hpp"

namespace quasar::search {

// A trial of the sampler's space that has a value: a complete one, or one that was given up with the value so far.
struct Result {
  const Trial* trial;
  Coordinates x;
  Losses losses;
};

class NewResults {
 public:
  // The trials that have ended with a value since the last call, by number; those that do not lie in the space are left out.
  // The pointers hold during the sampler's call.
  std::vector<Result> update(const History& history);

 private:
  size_t seen_ = 0;
  std::vector<size_t> unfinished_;  // positions of trials that were seen running
};

}  // namespace quasar::search
