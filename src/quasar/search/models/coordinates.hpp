// The values of a space as numbers: what samplers calculate with.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "quasar/search/space.hpp"

namespace quasar::search {

// One coordinate per parameter of the space: numbers within [0, 1], choices by position, NaN where it is not active.
using Coordinates = std::vector<double>;

// NaN also for pinned parameters, for those that pinned ones keep from being active (trials of an earlier stage have them), and
// for values that the space does not have.
Coordinates coordinates(const Space& space, const Point& point);

// A value as its coordinate: logarithmic axes by the logarithm, whole and stepped numbers at the middle of their cell, choices by
// position; NaN for a value that the distribution does not have.
double to_unit(const Distribution& distribution, const Json& value);

// The inverse; any x within [0, 1] gives the value of its cell. Choices: x is a position.
Json from_unit(const Distribution& distribution, double x);

// The value at the share u ([0, 1)) of the distribution's probability, choices included.
Json from_uniform(const Distribution& distribution, double u);

// The ends of the cell around x that gives one whole or stepped number; nullopt: choices and continua.
std::optional<std::pair<double, double>> cell(const Distribution& distribution, double x);

}  // namespace quasar::search
