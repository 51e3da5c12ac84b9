// Ctrl-C asks the search to stop and keep its results; a second one ends the program at once.
#pragma once

#include <stop_token>

namespace quasar::cli {

void catch_signals();              // SIGINT and SIGTERM
std::stop_token stop_requested();  // set by the first signal

}  // namespace quasar::cli
