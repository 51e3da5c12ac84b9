// Several objectives: who dominates whom, how crowded a front is, how much it covers. Smaller is better in every component.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::search {

// What a trial costs: one loss per objective, and how far it is beyond the constraints (0: feasible).
struct Losses {
  std::vector<double> values;
  double violation = 0;
};

// The values with their signs turned so that smaller is better. The trial has one value per direction.
QUASAR_API Losses losses(const Trial& trial, std::span<const Direction> directions);

// The losses of a finished trial; of a pruned one those that it had when it was given up (the last intermediate value, or its
// value), with a violation that puts it behind every complete one that keeps the constraints. nullopt: it has none.
QUASAR_API std::optional<Losses> known_losses(const Trial& trial, std::span<const Direction> directions);

// a is at least as good everywhere and better somewhere. A smaller violation always wins (Deb et al. 2002, constrained
// domination).
QUASAR_API bool dominates(const Losses& a, const Losses& b);

// The front that each one belongs to: 0 for those that nothing dominates, 1 for those that only front 0 dominates …
QUASAR_API std::vector<size_t> fronts(std::span<const Losses> all);

// Crowding distance of each within its front, the sum over objectives of the gap between its neighbours as a share of the
// front's range; infinite at the ends (Deb et al. 2002). `rank`: from fronts().
QUASAR_API std::vector<double> crowding(std::span<const Losses> all, std::span<const size_t> rank);

// Indices from best to worst: by front, within a front the least crowded first, then by position.
QUASAR_API std::vector<size_t> by_rank(std::span<const Losses> all);

// Volume between the points and `corner` (the reference point): exact, by slicing along the last objective. Points that are not
// below the corner in every component count nothing.
QUASAR_API double hypervolume(std::vector<std::vector<double>> points, const std::vector<double>& corner);

// Numbers of the complete, feasible trials that none dominates, by number; duplicates are left out. Without feasible trials:
// none.
QUASAR_API std::vector<int64_t> pareto_front(std::span<const Trial> trials, std::span<const Direction> directions);

}  // namespace quasar::search
