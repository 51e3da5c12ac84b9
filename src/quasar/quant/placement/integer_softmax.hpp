// What ONNX Runtime's integer Softmax (QLinearSoftmax, 1.30) can write. It multiplies table entries of up to 2³² / n, n the
// length of the axis, by 1 / scale in 32 bits, which overflow without saying so where scale · 255 is below about 1.7 / n
// (tried: 1.5 for one element, 0.84 for two, 0.56 for three, 0.34 for five, 0.14 for ten). Codes are wrong then, most of them 0.
#pragma once

#include <map>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

// By Softmax node: how many elements its axis has, by the shapes in `seen`, or those that ONNX Runtime infers for what is not
// there; 0 where the model leaves that open or nothing is known. `memo`: of the model, which ONNX Runtime then opens once; may be
// null.
std::map<std::string, int64_t> softmax_lengths(const graph::Model& model, const stats::Statistics& seen, WeightMemo* memo);

// Why a Softmax over an axis of this length cannot have 8 bits; "" when it can.
std::string obstacle_to_integer_softmax(int64_t length);

// The least range from 0 that 8-bit outputs of a Softmax over an axis of this length need; with a margin.
double least_range_of_softmax(int64_t length);

// One note for each Softmax of the plan whose output's scale, as the user gave it, is too fine for that kernel.
std::vector<std::string> notes_on_softmax(const graph::Model& model, const Plan& plan,
                                          const std::map<std::string, int64_t>& lengths);

}  // namespace quasar::quant
