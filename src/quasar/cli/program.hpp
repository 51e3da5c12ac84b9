// The command line `quasar` as a function.
#pragma once

#include "quasar/base/api.hpp"

namespace quasar::cli {

// What the program quasar does with these arguments; argv[0] is its name. Messages go to stderr, results to stdout. Settings of
// the whole process change: standard descriptors that are closed are taken, writing to a pipe that nobody reads is no signal any
// more, and freed memory is kept. -> its exit code.
QUASAR_API int program(int argc, char** argv);

}  // namespace quasar::cli
