// Functions that a model defines itself (model.functions). For the sources of graph/ only.
#pragma once

namespace onnx {
class ModelProto;
}

namespace quasar::graph {

// Puts the bodies of the model's functions in place of the nodes that call them, nested calls and subgraphs included, under
// names of their own ("call/name"), and drops the functions. Throws Error for a function that calls itself, for one that imports
// another version of an operator set than the model, and for calls that become more than a model may be.
void inline_functions(onnx::ModelProto& proto);

}  // namespace quasar::graph
