// Which outputs of a model have sizes that its inputs do not tell.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::ops {

// Whether every size of the output is a number, or one of an input (the batch).
bool has_known_size(const graph::Value& output, const graph::Model& model);

}  // namespace quasar::ops
