// Pruners: whether a trial that is being scored can be given up. One file each in pruners/.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/plugin.hpp"

namespace quasar::search {

// A trial in the middle of its samples. Losses are values of the objective, negated when it is maximized: smaller is better.
struct Race {
  std::span<const double> losses = {};     // of the samples scored so far, in the race's order: a seeded permutation
  size_t before = 0;                       // samples at the look before this one
  size_t total = 0;                        // samples in all
  double floor = 0;                        // no sample's loss is below it
  std::span<const double> incumbent = {};  // the best complete trial's losses of all samples, same order; empty: there is none
  size_t rivals = 0;                       // other trials so far: the incumbent is one of them
  std::optional<double> good_enough = {};  // a mean loss that makes a candidate, which the user wants even if it is not the best
  std::span<const double> reached = {};    // mean losses after as many samples, of all other trials that came this far
  std::span<const double> completed = {};  // of these, those of complete trials
};

// The mean of losses, of which there must be one.
QUASAR_API double mean_of(std::span<const double> losses);

class QUASAR_API Pruner {
 public:
  virtual ~Pruner() = default;

  // false: it gives up nothing.
  virtual bool prunes() const { return true; }

  // true: the trial is given up. Asked after every block of samples but the last; the answer depends on the race only.
  virtual bool gives_up(const Race& race) const = 0;
};

}  // namespace quasar::search

namespace quasar::search::pruners {
QUASAR_API const Table<Pruner>& table();
}
