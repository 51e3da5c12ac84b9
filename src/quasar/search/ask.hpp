// Ask and tell: a search whose loop is the caller's. run() in run.hpp is the loop with everything.
#pragma once

#include "quasar/base/api.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/study.hpp"

namespace quasar::search {

// The next trial, running from now on; nullopt: the space is exhausted. Any number of trials may run at the same time. Throws
// Error for a space or a number of objectives that the sampler cannot handle.
QUASAR_API std::optional<Trial> ask(Study& study, const Space& space, Sampler& sampler, uint64_t seed = 0);

// The trial has ended with one value per objective; it has failed when there are none. `constraints`: each kept where it is at
// most 0. Throws Error for another number of values, and for NaN.
QUASAR_API const Trial& tell(Study& study, Trial trial, std::vector<double> values, std::vector<double> constraints = {});

}  // namespace quasar::search
