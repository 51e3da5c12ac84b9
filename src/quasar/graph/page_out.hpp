// Memory that weights mapped from files take.
#pragma once

#include <cstddef>
#include <span>

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Says that the weights are not needed for now: those that are mapped from files (external data) leave the process' memory and
// come back from the file when they are next read. All others stay, and nothing changes but the memory taken.
void page_out(const Model& model);

// The same of one tensor's bytes, or a part of them.
void page_out(std::span<const std::byte> bytes);

}  // namespace quasar::graph
