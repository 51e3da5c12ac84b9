// What a process does that works for a search which another one leads.
#pragma once

#include <optional>

#include "quasar/job/job.hpp"
#include "quasar/worker/worker.hpp"

namespace quasar::cli {

struct WorkerRunOptions {
  double patience = 600;                              // seconds to wait for the search to begin
  bool quiet = false;                                 // only warnings and the result
  bool json = false;                                  // what was done as JSON
  std::string launch = {};                            // of the search's process, when it was started together with this one
  std::string run = {};                               // of a search that ran when this worker came (tune::SearchOffer)
  std::optional<double> drain = {}, until_idle = {};  // as DrainOptions
  bool keeps_files = false;  // the job's output_dir is this worker's: a log, and the models that keep_models asks for
};

struct WorkerEnd {
  int code;                  // exit code
  bool idle = false;         // there was nothing to do
  bool interrupted = false;  // this process was, whatever became of its search
};

// What it came to as JSON: a document, or a line where it goes from search to search.
void print_worker(const tune::WorkerRun& done, const WorkerRunOptions& options);

// Runs trials to the end of the search.
WorkerEnd run_worker(tune::Job job, const WorkerRunOptions& options);

}  // namespace quasar::cli
