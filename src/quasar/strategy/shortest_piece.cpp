#include "quasar/strategy/shortest_piece.hpp"

#include <algorithm>

namespace quasar::tune {

void find_shortest(const Ranked& ranking, const std::function<Verdict(size_t)>& tried) {
  size_t low = ranking.low, high = ranking.foreseen > low ? ranking.foreseen : std::max<size_t>(1, 2 * low);
  while (high < ranking.all && tried(high) != Verdict::enough) {
    low = high;
    high = 2 * high;
  }
  if (high >= ranking.all) {
    if (!ranking.all_are_enough) return;
    high = ranking.all;
  }
  while (high - low > std::max<size_t>(1, high / ranking.part)) {
    const size_t middle = low + (high - low) / 2;
    (tried(middle) == Verdict::enough ? high : low) = middle;
  }
}

size_t greatest(size_t all, const std::function<bool(size_t)>& holds) {
  if (holds(all)) return all;
  size_t low = 0, high = all;  // holds, does not
  while (high - low > 1) {
    // The answer is mostly next to the whole.
    const size_t middle = high == all && high - low > 2 ? high - 1 : low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace quasar::tune
