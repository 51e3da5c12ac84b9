// Constants named as ONNX Runtime's MatMulAddFusion names its own: it (1.30) fails on models that hold them.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::runtime {

// Gives them names that the fusion does not write, but for those that the model or a body of it hands out.
void rename_constants_of_fusion(graph::Model& model);

}  // namespace quasar::runtime
