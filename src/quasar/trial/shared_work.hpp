// Work in parts (base/parallel.hpp) that processes of one study do together: each takes parts that nobody has taken, and tells
// the others what came out. Who comes later finds what is known already. A part that another process has taken is waited for as
// long as such a part may take; then it is done here, as that process may have died. So nothing depends on who takes part, or
// when.
#pragma once

#include "quasar/base/parallel.hpp"
#include "quasar/search/study.hpp"

namespace quasar::tune {

// With whom a process shares what it finds out; nullptr: with nobody.
struct Companions {
  search::Answers* answers = nullptr;
  int64_t study = -1;
};
Companions companions_in(const search::Study& study);

struct WorkShares {
  double seconds = 0.05;  // of parts that are taken at a time
  double little = 0.005;  // seconds: what is left is done here where it takes no longer, as asking for it takes so long, too
  double patience = 1;    // seconds that a part of another process is waited for at least, and ten times what one takes here
};

// Empty where there is nobody. What `with` names outlives it. Where the study tells an error, the work is done here.
Sharer sharer_with(const Companions& with, const WorkShares& shares = {});

}  // namespace quasar::tune
