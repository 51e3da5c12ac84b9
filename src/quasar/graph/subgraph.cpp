#include "quasar/graph/subgraph.hpp"

#include <onnx/onnx_pb.h>

#include <unordered_set>

#include "quasar/base/error.hpp"

namespace quasar::graph {
namespace {

using Visit = std::function<void(const onnx::GraphProto&)>;

void visit_attribute(const onnx::AttributeProto& attribute, const Visit& visit);

void visit_graph(const onnx::GraphProto& graph, const Visit& visit) {
  visit(graph);
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) visit_attribute(attribute, visit);
  }
}

void visit_attribute(const onnx::AttributeProto& attribute, const Visit& visit) {
  if (attribute.has_g()) visit_graph(attribute.g(), visit);
  for (const auto& graph : attribute.graphs()) visit_graph(graph, visit);
}

// Values in the order in which they were first added.
class Ordered {
 public:
  void add(const std::string& value) {
    if (!value.empty() && known_.insert(value).second) values_.push_back(value);
  }
  std::vector<std::string> values() && { return std::move(values_); }

 private:
  std::unordered_set<std::string> known_;
  std::vector<std::string> values_;
};

std::unordered_set<std::string> defined_in(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> defined;
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  for (const auto& node : graph.node()) defined.insert(node.output().begin(), node.output().end());
  return defined;
}

std::vector<std::string> captures_of(const onnx::GraphProto& graph) {
  const auto defined = defined_in(graph);
  Ordered out;
  const auto reads = [&](const std::string& value) {
    if (!defined.contains(value)) out.add(value);
  };
  for (const auto& node : graph.node()) {
    for (const auto& input : node.input()) reads(input);
    for (const auto& captured : graph::captures_of(node)) reads(captured);
  }
  for (const auto& output : graph.output()) reads(output.name());
  return std::move(out).values();
}

}  // namespace

void visit_subgraphs(const Node& node, const Visit& visit) {
  for (const auto& attribute : node.attributes) {
    const Opaque* opaque = std::get_if<Opaque>(&attribute.value);
    if (opaque == nullptr) continue;
    onnx::AttributeProto proto;
    if (!proto.ParseFromString(*opaque->bytes))
      throw Error("attribute '" + attribute.name + "' of node '" + node.name + "' cannot be read");
    visit_attribute(proto, visit);
  }
}

std::vector<std::string> captures_of(const onnx::NodeProto& node) {
  Ordered out;
  for (const auto& attribute : node.attribute()) {
    const auto add = [&](const onnx::GraphProto& graph) {
      for (const auto& value : captures_of(graph)) out.add(value);
    };
    if (attribute.has_g()) add(attribute.g());
    for (const auto& graph : attribute.graphs()) add(graph);
  }
  return std::move(out).values();
}

}  // namespace quasar::graph
