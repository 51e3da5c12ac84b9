#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>

#include "quasar/graph/load.hpp"
#include "quasar/graph/node_proto.hpp"
#include "quasar/graph/subgraph.hpp"

namespace quasar::graph {
namespace {

constexpr std::array<std::string_view, 3> known_domains{"", "ai.onnx.ml", "com.microsoft"};
constexpr std::array<std::string_view, 8> quantized_prefixes{"QuantizeLinear",  "DequantizeLinear", "QLinear",
                                                             "DynamicQuantize", "QOrdered",         "MatMulInteger",
                                                             "ConvInteger",     "DequantizeBFP"};
constexpr std::array<std::string_view, 9> quantized_operators{
    "QAttention",           "QGemm",      "QMoE", "QEmbedLayerNormalization", "MatMulNBits", "MatMulBnb4", "MatMulFpQ4",
    "GatherBlockQuantized", "QuantizeBFP"};

bool is_quantized(const std::string& domain, const std::string& op) {
  if (domain != "" && domain != "com.microsoft") return false;
  return std::any_of(quantized_prefixes.begin(), quantized_prefixes.end(), [&](auto prefix) { return op.starts_with(prefix); }) ||
         std::find(quantized_operators.begin(), quantized_operators.end(), op) != quantized_operators.end();
}

std::string obstacle_of(const std::string& label, const std::string& domain, const std::string& op) {
  if (std::find(known_domains.begin(), known_domains.end(), domain) == known_domains.end()) {
    return label + " has the operator " + op + " of the domain '" + domain +
           "', which Quasar does not know; custom operators ('custom_op_library') are not supported yet";
  }
  if (is_quantized(domain, op))
    return label + " (" + op + ") shows that the model is already quantized; Quasar starts from the float model";
  return "";
}

std::string obstacle_in_node(const Node& node) {
  std::string found = obstacle_of("node '" + node.name + "'", node.domain, node.op_type);
  visit_subgraphs(node, [&](const onnx::GraphProto& graph) {
    for (const auto& inner : graph.node()) {
      if (!found.empty()) return;
      const std::string label = "node '" + inner.name() + "' in a subgraph of '" + node.name + "'";
      found = obstacle_of(label, domain_of(inner.domain()), inner.op_type());
    }
  });
  return found;
}

std::string obstacle_in_weight(const std::string& name, const Tensor& tensor) {
  const std::string label = "the weight '" + name + "' is " + std::string(name_of(tensor.type()));
  switch (tensor.type()) {
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::float8e8m0:
    case DataType::float4e2m1:
    case DataType::uint4:
    case DataType::int4:
    case DataType::uint2:
    case DataType::int2:
      return label + ", which shows that the model is already quantized; Quasar starts from the float model";
    default:
      return "";
  }
}

}  // namespace

std::string obstacle(const Model& model) {
  for (const auto& node : model.nodes) {
    if (std::string found = obstacle_in_node(node); !found.empty()) return found;
  }
  for (const auto& [name, tensor] : model.initializers) {
    if (std::string found = obstacle_in_weight(name, tensor); !found.empty()) return found;
  }
  return "";
}

}  // namespace quasar::graph
