// Errors of very many units within a bounded number of runs: neighbours are quantized together, and the groups that hurt most are
// split.
#pragma once

#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/runtime/output_distance.hpp"
#include "quasar/sensitivity/toggled_model.hpp"

namespace quasar::tune {

struct GroupError {
  size_t first = 0, count = 0;  // units
  double error =
      0;  // mean over samples of the distance of the model's outputs with these units quantized and all others in float
};

// Groups that cover all units, in their order, from `most` (2 and more) runs per sample: first 32 (or half as many as runs) of
// equal size, then in rounds the 16 with the greatest errors are halved, until they are single units or no run is left. With no
// more units than runs every group is one unit.
std::vector<GroupError> group_errors(const ToggledModel& model, const data::Dataset& samples, size_t most, size_t threads = 0,
                                     const Distance& distance = output_distance);

// Errors of single units: that of a group is shared out by `noises`, the noise-to-signal ratios of the units' own results.
// Squares of independent errors add up, so that a unit gets √(its share of the group's squared error).
std::vector<double> shared_out(const std::vector<GroupError>& groups, const std::vector<double>& noises);

}  // namespace quasar::tune
