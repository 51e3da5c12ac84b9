// One node of ONNX's own domain, rewritten for a newer opset. For the sources of graph/ only.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace onnx {
class NodeProto;
}

namespace quasar::graph {

struct ConvertOptions {
  int64_t from = 0;                                                       // the node's opset
  int64_t to = 0;                                                         // the wanted one, up to 17
  std::function<std::string(const std::string&)> fresh;                   // a new name for a value or node, from a wish
  std::function<std::optional<size_t>(const std::string&)> rank;          // of a value, where it is known
  std::function<std::vector<float>(const std::string&)> constant_floats;  // of an initializer, else empty
};

// The nodes that do what `node` did, in topological order: it itself under its old name and with its old outputs, and Constant
// nodes for attributes that became inputs. Subgraphs in its attributes stay as they are. Throws Error naming node and operator
// when there is no exact equivalent.
std::vector<onnx::NodeProto> convert_node(const onnx::NodeProto& node, const ConvertOptions& options);

}  // namespace quasar::graph
