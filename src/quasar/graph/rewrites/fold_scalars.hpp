// Products and sums with one constant value beside convolutions, as part of their weights and biases.
#pragma once

#include <set>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Of Conv and ConvTranspose in float32 with constant weights:
// - a Mul or Add with a constant of one value that alone reads the result becomes part of weights and bias;
// - a Mul whose result convolutions alone read becomes part of their weights, also with an Add between; that Add becomes part of
//   their biases where none of them pads its input.
// The same function but for rounding. `kept`: names of Muls and Adds that stay, as runtimes make one operator of them and others.
void fold_scalars(Model& model, const std::set<std::string>& kept = {});

}  // namespace quasar::graph
