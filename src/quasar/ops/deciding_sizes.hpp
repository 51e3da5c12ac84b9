// Operators that decide how many values a model gives: durations that a text-to-speech model predicts for its letters, rounded to
// whole numbers. With a small error in them the output has another length, and no distance says how near it is.
#pragma once

#include <set>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::ops {

// The names of the nodes behind what computes lengths: inputs of Range, ConstantOfShape, Expand, Reshape and Tile that come from
// the model's inputs by other ways than their shapes, where a model's output of open size depends on them. What is chosen
// (NonMaxSuppression, TopK …) is not followed: chosen_outputs.hpp tells how such outputs are compared. Neither is what If, Loop
// and Scan give. Empty for most models.
std::set<std::string> nodes_deciding_sizes(const graph::Index& index);

}  // namespace quasar::ops
