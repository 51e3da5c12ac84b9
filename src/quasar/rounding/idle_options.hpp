// Options of rounding that cannot act.
#pragma once

#include "quasar/quant/plan.hpp"

namespace quasar::tune {

// Options that cannot act under this plan take their defaults, with a note, so that varying them makes no other plan. `vectors`:
// sums behind matrix products can take up mean errors as quantized biases do.
void drop_idle_options(quant::Plan& plan, bool vectors);

}  // namespace quasar::tune
