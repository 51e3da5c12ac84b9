// The files that a search leaves for its reader.
#pragma once

#include "quasar/job/job.hpp"

namespace quasar::report {

// report.html in the output folder; with plot_results also opt_history and param_importance, each as .html and .svg.
void write_pages(const tune::Job& job, const Json& contents);

}  // namespace quasar::report
