#include <onnx/onnx_pb.h>

#include "quasar/graph/model.hpp"
#include "quasar/graph/subgraph.hpp"

namespace quasar::graph {

// Names inside subgraphs count too: one that comes into being outside must not be hidden by one inside.
Names::Names(const Model& model) {
  for (const auto& [name, tensor] : model.initializers) taken_[name];
  for (const auto& input : model.inputs) taken_[input.name];
  for (const auto& output : model.outputs) taken_[output.name];
  for (const auto& node : model.nodes) {
    taken_[node.name];
    for (const auto& name : node.inputs) taken_[name];
    for (const auto& name : node.outputs) taken_[name];
    for (const auto& name : node.captures) taken_[name];
    visit_subgraphs(node, [this](const onnx::GraphProto& graph) {
      for (const auto& input : graph.input()) taken_[input.name()];
      for (const auto& tensor : graph.initializer()) taken_[tensor.name()];
      for (const auto& tensor : graph.sparse_initializer()) taken_[tensor.values().name()];
      for (const auto& inner : graph.node()) {
        taken_[inner.name()];
        for (const auto& output : inner.output()) taken_[output];
      }
    });
  }
}

std::string Names::fresh(const std::string& wish) {
  if (!wish.empty() && taken_.try_emplace(wish, 0).second) return wish;
  std::string name;
  int& last = taken_[wish];
  int number = last;
  do {
    name = wish + "_" + std::to_string(++number);
  } while (taken_.contains(name));
  last = number;
  taken_.emplace(name, 0);
  return name;
}

}  // namespace quasar::graph
