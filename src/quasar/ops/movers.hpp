// Operators that hand their first input's values on without computing.
//
// Kind::movement (op.hpp) asks another question: whether input and output can share a scale. MaxPool, ReduceMax, Resize of the
// nearest and Pad of zeros can, though they choose by size or add zeros; Identity and GatherND are none of what is quantized.
// Lists of a target's or a library's kernels ask a third one, and name what was tried there.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::ops {

// Whether the node gives nothing but values of its first input, chosen by their places: some of them, or some more than once.
bool only_moves(const graph::Node& node);

// Whether it gives all of them, each once: another shape or order.
bool keeps_all(const graph::Node& node);

}  // namespace quasar::ops
