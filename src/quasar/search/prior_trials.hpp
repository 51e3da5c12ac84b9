// Trials of earlier studies, as far as they say something of a space.
#pragma once

#include <span>
#include <vector>

#include "quasar/search/space.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::search {

// Those that lie in the space, as trials that no study has (number < 0). Parameters of one choice may be new or gone, and
// one that may be null may be new: earlier trials are without it.
std::vector<Trial> fitting(std::span<const Trial> trials, const Space& space);

// The points of the best few, those that break no constraint first.
std::vector<Point> best_points(std::span<const Trial> trials, Direction direction);

}  // namespace quasar::search
