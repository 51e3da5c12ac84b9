// Softmax, LogSoftmax and Hardmax as they were before opset 13. For the sources of graph/ only.
#pragma once

#include <string>
#include <vector>

#include "quasar/graph/convert_options.hpp"

namespace onnx {
class NodeProto;
}

namespace quasar::graph {

bool is_coerced_softmax(const std::string& op);

// Before opset 13 these flattened their input to two axes at `axis` (default 1) and worked along the second; since then they work
// along one axis only. The same where `axis` is the last; elsewhere Flatten, the operator, and a Reshape to the input's shape.
std::vector<onnx::NodeProto> without_coercion(const onnx::NodeProto& node, const ConvertOptions& options);

}  // namespace quasar::graph
