// Memory that weights mapped from files take.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Says that the weights are not needed for now: those that are mapped from files (external data) leave the process' memory and
// come back from the file when they are next read. All others stay, and nothing changes but the memory taken.
void page_out(const Model& model);

}  // namespace quasar::graph
