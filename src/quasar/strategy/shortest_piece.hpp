// The shortest sufficient piece of a ranking, by doubling and bisection: O(log n) trials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace quasar::tune {

// What a trial says of a piece. One that failed says nothing: more of the ranking, or less, may work.
enum class Verdict { enough, too_little, unknown };

struct Ranked {
  size_t low = 0;               // so many are known not to be enough
  size_t all = 0;               // the length of the ranking
  bool all_are_enough = false;  // known of the whole
  size_t foreseen = 0;          // so many are about enough; 0: not known
  size_t part = SIZE_MAX;       // the piece may be longer than the shortest one by one such part of it
};

// Tries pieces until the shortest that is enough is known, or nearly (`part`), which has been tried then, or that none up to the
// whole is.
void find_shortest(const Ranked& ranking, const std::function<Verdict(size_t)>& tried);

// The greatest number up to `all` that `holds`, which must hold for 0 and, where it does for a number, for those below.
size_t greatest(size_t all, const std::function<bool(size_t)>& holds);

}  // namespace quasar::tune
