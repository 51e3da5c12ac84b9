// What an activation's scale could be instead.
#pragma once

#include <vector>

#include "quasar/quant/plan.hpp"

namespace quasar::tune {

// The present parameters first; then twice and half of a power of two (where the grid allows it), or ranges clipped at one end or
// both.
std::vector<quant::QuantParams> scale_candidates(const quant::QuantParams& params);

}  // namespace quasar::tune
