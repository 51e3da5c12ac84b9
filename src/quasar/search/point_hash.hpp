// Points as keys of hash tables.
#pragma once

#include <cstdint>

#include "quasar/search/space.hpp"

namespace quasar::search {

// Equal for equal points: 1 and 1.0 are, as a study's file may have either.
uint64_t point_hash(const Point& point);

}  // namespace quasar::search
