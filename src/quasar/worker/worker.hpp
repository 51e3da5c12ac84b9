// One of several processes that run the trials of one search: the study is shared, the search itself is led by tune::search().
#pragma once

#include "quasar/tune/summary.hpp"
#include "quasar/worker/drain.hpp"

namespace quasar::tune {

// What a worker did.
struct WorkerRun {
  size_t executed = 0, duplicates = 0, failed = 0;  // of its own trials
  search::Counts all;                               // of the study, as far as it saw
  std::string reason;                               // why it ended, in words
  bool interrupted = false;                         // this process was
  bool search_interrupted = false;  // its leader was, or has not been there for long: whoever continues it needs workers again
  bool idle = false;                // it ended because there was nothing to do (DrainOptions)
  double prepare_s = 0, trials_s = 0, seconds = 0;
};

// Prepares model and samples, waits up to `patience` seconds until somebody leads the search (search_to_join.hpp), and runs
// trials until the search ends or there is nothing left to do. Writes nothing but the models that keep_models asks for, into the
// job's output_dir. `end`: how it ends before the search does. Throws Error when the study does not come, or is another search's.
WorkerRun work(const Job& job, const Monitor& monitor, double patience, const DrainOptions& end = {});

}  // namespace quasar::tune
