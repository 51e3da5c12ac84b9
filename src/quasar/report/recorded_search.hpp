// A search with all the files that it leaves: what the command line and the Python package run.
#pragma once

#include "quasar/tune/search.hpp"

namespace quasar::report {

struct Searched {
  tune::Job job;  // that the summary is of: repair's where a poor model was rescued
  tune::Summary summary;
  Json result;  // as in result.json
};

// The file by which a folder holds an earlier search; "" where it holds none.
std::string earlier_search(const std::filesystem::path& folder);

// Throws Error when output_dir holds an earlier search that the job does not continue, or when results would replace what the
// search reads. `configuration`: the job's file, where it has one.
void refuse_to_overwrite(const tune::Job& job, const std::filesystem::path& configuration = {},
                         const std::string& how_to_continue = "--resume (load_study_if_exists: true)");

// Makes output_dir and runs the search; report.html is rewritten meanwhile. In the end result.json and the reports stand beside
// what tune::search() writes. A search whose best model is poor may go on with strategy repair (tune/rescue.hpp): where that
// finds a better one, the results are its, and `before` in result.json tells of the first. Throws Error.
Searched search(const tune::Job& job, tune::Monitor monitor);

}  // namespace quasar::report
