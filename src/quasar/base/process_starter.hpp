// The thread that starts programs which are to end when this process does.
#pragma once

#include <functional>

namespace quasar {

// Does the work in a thread that lives as long as the process, and gives its result; one work at a time. What it throws ends the
// process.
int run_by_starter(const std::function<int()>& work);

}  // namespace quasar
