// The search loop: ask, try, tell, until a stop condition holds, the space is exhausted or someone stops it.
#pragma once

#include "quasar/base/api.hpp"
#include "quasar/search/objective.hpp"
#include "quasar/search/run_options.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/stop.hpp"
#include "quasar/search/study.hpp"

namespace quasar::search {

// In a shared study other processes run the same stage at the same time, and each ends when it has nothing left to do: what
// others run is waited for when the space is exhausted, so that all of them see the same trials at the end of a stage.
//
// With n_jobs = 1 the study is the same every time but for times. A failing trial is recorded and the search goes on; an error of
// the storage or of the machine ends it. Conditions are not copied: they outlive the run.
QUASAR_API RunResult run(const RunOptions& options, Study& study, const Space& space, Sampler& sampler,
                         const StopConditions& conditions, const Objective& objective);

}  // namespace quasar::search
