// One search on the command line, from its job to what is printed of its results.
#pragma once

#include <string>

#include "quasar/job/job.hpp"

namespace quasar::cli {

struct SearchRun {
  bool quiet = false, resume = false;
  bool json = false;               // result.json's document on standard output, in place of the table
  std::string configuration = {};  // the file of the job, which is not to be overwritten; "": none
};

// -> the exit code. Throws Error for an output folder that holds another search, and for a job that cannot begin, which leaves
// no folder behind.
int run_search(tune::Job job, const SearchRun& how);

}  // namespace quasar::cli
