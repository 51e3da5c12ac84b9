// A model as ONNX Runtime's optimizers leave it.
#pragma once

#include "quasar/graph/model.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::runtime {

// What these options make of the model (save_optimized is set here). Throws Error of the world, which names the folder of
// temporary files, when there is no room for it.
graph::Model rewritten(const graph::Model& model, SessionOptions options);

}  // namespace quasar::runtime
