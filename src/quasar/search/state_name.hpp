// What a trial's state is called, in reports and in Python.
#pragma once

#include "quasar/base/api.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::search {

// "running", "waiting", "complete", "pruned" or "failed".
QUASAR_API const char* name_of(State state);

}  // namespace quasar::search
