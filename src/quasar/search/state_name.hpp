// What a trial's state is called, in reports and in Python.
#pragma once

#include "quasar/search/trial.hpp"

namespace quasar::search {

// "running", "waiting", "complete", "pruned" or "failed".
const char* name_of(State state);

}  // namespace quasar::search
