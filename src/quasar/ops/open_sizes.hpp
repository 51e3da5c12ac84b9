// Which values of a model have sizes that its inputs do not tell.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::ops {

// Whether every size of the output is a number, or one of an input (the batch).
bool has_known_size(const graph::Value& output, const graph::Model& model);

// Whether how many values the node gives depends on the data: NonMaxSuppression, NonZero, Unique, Compress.
bool chooses(const graph::Node& node);

}  // namespace quasar::ops
