// What costs nothing at run time (ranges, rounding …), tried on a model whose precisions are chosen.
#pragma once

#include <functional>
#include <set>

#include "quasar/search/sequence.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

// Trials that try_improvements() takes at most from this point.
size_t improvements_of(const StrategyContext& context, const search::Point& point);

// Trials that are left to a strategy, of which some are kept for the end. Counts those on its way, not those of the study: one
// that is resumed repeats its way.
class KeptTrials {
 public:
  // `most`: nullopt: no number bounds them. `kept`: no more than a quarter of all are.
  KeptTrials(const Limits& limits, std::optional<int64_t> most, size_t kept);
  void count(const search::Trial& trial);
  // That may start before the end.
  size_t left() const;

 private:
  bool models_;  // duplicates do not count
  std::optional<size_t> before_end_;
  std::set<int64_t> counted_;
};

// Tries one parameter after another in the order of the space, each choice on `best`, which `take` may change: it is told of each
// trial, and of what was changed for it. `left_out` says how many were not tried yet.
void try_improvements(const StrategyContext& context, search::Sequence& sequence, const search::Trial& best,
                      const std::function<void(const search::Trial& trial, const Json& change)>& take, size_t& left_out);

}  // namespace quasar::tune
