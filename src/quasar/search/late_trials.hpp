// What workers bring in when their search has ended.
#pragma once

#include "quasar/search/study.hpp"

namespace quasar::search {

struct LateTrials {
  Counts counts;       // of those that have finished since the study was last refreshed
  size_t running = 0;  // that have not ended in time
};

// Waits until other processes have ended what they run, at most `patience` seconds; the study then has it. At once where nobody
// runs anything. For a leader that has announced the end: its workers start nothing more, and stop.
LateTrials late_trials(Study& study, double patience);

}  // namespace quasar::search
