// What computes in float on Qualcomm's NPU, and has no way to the codes behind it.
#pragma once

#include "quasar/graph/lookup.hpp"

namespace quasar::quant {

// Whether nodes in float carry what it writes to codes that others read. A mean on the way is no fault.
bool leads_to_codes(const graph::Node& node, const graph::Index& index);

}  // namespace quasar::quant
