// A pipeline's layout in a model's metadata. For the sources of graph/pipeline only.
#pragma once

#include "quasar/graph/pipeline/pipeline.hpp"

namespace quasar::graph {

void write_layout(Model& model, const Pipeline& pipeline);
void forget_layout(Model& model);

}  // namespace quasar::graph
