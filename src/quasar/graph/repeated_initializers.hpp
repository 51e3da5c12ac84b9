// Subgraphs in which a weight stands twice.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// Keeps the first of the initializers of one name in each graph that the nodes' attributes hold. ONNX Runtime (1.30) writes those
// of subgraphs twice beside a file of weights, and does not open what it wrote.
void drop_repeated_initializers(Model& model);

}  // namespace quasar::graph
