// What a process does that works for a search which another one leads.
#pragma once

#include "quasar/job/job.hpp"

namespace quasar::cli {

struct WorkerRunOptions {
  double patience = 600;     // seconds to wait for the search to begin
  bool quiet = false;        // only warnings and the result
  bool json = false;         // what was done as JSON
  std::string launch = {};   // of the search's process, when it was started together with this one
  bool keeps_files = false;  // the job's output_dir is this worker's: a log, and the models that keep_models asks for
};

// Runs trials to the end of the search. -> exit code.
int run_worker(tune::Job job, const WorkerRunOptions& options);

}  // namespace quasar::cli
