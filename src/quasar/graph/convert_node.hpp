// One node of ONNX's own domain, rewritten for a newer opset. For the sources of graph/ only.
#pragma once

#include <vector>

#include "quasar/graph/convert_options.hpp"

namespace onnx {
class NodeProto;
}

namespace quasar::graph {

// The nodes that do what `node` did, in topological order: it itself under its old name and with its old outputs, and Constant
// nodes for attributes that became inputs. Subgraphs in its attributes stay as they are. Throws Error naming node and operator
// when there is no exact equivalent.
std::vector<onnx::NodeProto> convert_node(const onnx::NodeProto& node, const ConvertOptions& options);

}  // namespace quasar::graph
