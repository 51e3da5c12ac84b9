// A plan is moved within the limits of a processor that shifts: each rule of rules/ that is switched on moves positions until
// all hold.
#pragma once

#include <string>
#include <vector>

#include "quasar/quant/npu/positions.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/quant/ties.hpp"

namespace quasar::quant {

struct ShiftContext {
  const graph::Index& index;
  const Placement& placement;
  const Ties& ties;
  const Config& config;
  bool npu = false;
};

// Changes scales of values, weights and biases, all of which stay powers of two; nothing where no rule is on. -> what was moved,
// and which rules could not be kept, in words.
std::vector<std::string> keep_shift_rules(Plan& plan, const ShiftContext& context);

}  // namespace quasar::quant
