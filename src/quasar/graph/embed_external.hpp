// External data of what Quasar keeps unopened. For the sources of graph/ only.
#pragma once

#include "quasar/graph/external_files.hpp"

namespace onnx {
class ModelProto;
}

namespace quasar::graph {

// Takes external data of tensors in subgraphs, functions and training information into the message, because the model may be
// written elsewhere.
void embed_external(onnx::ModelProto& proto, ExternalFiles& files);

}  // namespace quasar::graph
