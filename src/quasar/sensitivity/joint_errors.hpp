// What quantizing groups of operators costs at the model's outputs, alone and in pairs, in one of several precisions each.
//
//   single(g, p) = s(g at p),   joint(g, p, h, q) = s(g at p and h at q) − s(g at p) − s(h at q)
//
// s: with all others in float, the square of the mean over samples of the distance to the float model's outputs, or the mean of
// squares. Squares of independent errors add up, so that joint is 0 where two do not interact. Pairs after CLADO (arXiv
// 2307.05657), with squared distances in place of a loss's Taylor series.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "quasar/base/log.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/runtime/output_distance.hpp"
#include "quasar/sensitivity/toggled_model.hpp"

namespace quasar::tune {

enum class Squared { mean_distance, each_distance };

struct JointErrors {
  std::vector<std::vector<double>> single;              // [group][level − 1]
  std::vector<std::vector<std::vector<double>>> pairs;  // of each pair that was asked for: [level of g − 1][level of h − 1]
};

// `groups`: units of each, which change together; `levels`: how many each unit can have besides float; `pairs`: of groups.
JointErrors joint_errors(const ToggledModel& model, std::span<const std::vector<size_t>> groups, size_t levels,
                         std::span<const std::pair<size_t, size_t>> pairs, const data::Dataset& samples, const Distance& distance,
                         Squared squared = Squared::mean_distance, const Progress& progress = {});

}  // namespace quasar::tune
