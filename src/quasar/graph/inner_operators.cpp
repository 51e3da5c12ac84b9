#include "quasar/graph/inner_operators.hpp"

#include <onnx/onnx_pb.h>

#include "quasar/graph/node_proto.hpp"
#include "quasar/graph/subgraph.hpp"

namespace quasar::graph {

std::map<std::string, size_t> inner_operators(const Node& node) {
  std::map<std::string, size_t> out;
  visit_subgraphs(node, [&](const onnx::GraphProto& graph) {
    for (const auto& inner : graph.node()) {
      if (domain_of(inner.domain()).empty()) ++out[inner.op_type()];
    }
  });
  return out;
}

}  // namespace quasar::graph
