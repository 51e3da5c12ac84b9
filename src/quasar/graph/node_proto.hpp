// Nodes and values from and to ONNX's messages. For the sources of graph/ only.
#pragma once

#include "quasar/graph/external_files.hpp"
#include "quasar/graph/model.hpp"

namespace onnx {
class NodeProto;
class ValueInfoProto;
}  // namespace onnx

namespace quasar::graph {

// "" for ONNX's own domain, which has two spellings.
std::string domain_of(const std::string& written);

// Takes the node apart (its tensors move into the result). Throws Error for a tensor that cannot be read.
Node node_of(onnx::NodeProto& proto, ExternalFiles& files);
void set_node(onnx::NodeProto& proto, const Node& node);

Value value_of(const onnx::ValueInfoProto& proto);
void set_value(onnx::ValueInfoProto& proto, const Value& value);

}  // namespace quasar::graph
