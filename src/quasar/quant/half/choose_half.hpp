// Which operators of a model keep float32 where all else that is not in codes becomes float16.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

struct KeptInFloat32 {
  std::set<std::string> nodes = {};     // of those that have float16
  std::vector<std::string> notes = {};  // one for each reason, with the nodes
};

// Of the float model: operators that read or write values beyond half of float16's largest number (calibration samples are not
// all samples), values of which nothing is known, constants that float16 does not hold, and codes whose scales it does not hold.
// Constants that attention masks hide by are written as −10⁴, which float16 holds. What was not observed is bounded by what the
// operators before it read (|a + b| ≤ |a| + |b|, sums by their weights …).
// In islands (plan.half_islands) what runs on codes keeps float32, and the other operators with has_arm_kernel() are asked.
KeptInFloat32 kept_in_float32(const graph::Model& model, const stats::Statistics& seen, const Plan& plan);

// Raises scales of weights that float16 does not hold (those of channels that training has switched off, mostly) to the least
// that it holds, where others of the same weights are at least 16 times as large: the codes of such a channel round no coarser
// than theirs.
void raise_lost_scales(Plan& plan);

}  // namespace quasar::quant
