#include <algorithm>

#include "quasar/graph/model.hpp"

namespace quasar::graph {
namespace {

void add_once(std::vector<const Node*>& nodes, const Node* node) {
  if (nodes.empty() || nodes.back() != node) nodes.push_back(node);  // one node's readings are registered in a row
}

}  // namespace

Index::Index(const Model& model) : model_(model) {
  for (const auto& node : model.nodes) {
    nodes_.emplace(node.name, &node);
    for (const auto& output : node.outputs) {
      if (!output.empty()) producers_.emplace(output, &node);
    }
    for (const auto& input : node.inputs) {
      if (!input.empty()) add_once(consumers_[input], &node);
    }
    for (const auto& captured : node.captures) add_once(consumers_[captured], &node);
  }
}

const Node* Index::producer(const std::string& value) const {
  const auto found = producers_.find(value);
  return found != producers_.end() ? found->second : nullptr;
}

const std::vector<const Node*>& Index::consumers(const std::string& value) const {
  static const std::vector<const Node*> none;
  const auto found = consumers_.find(value);
  return found != consumers_.end() ? found->second : none;
}

bool Index::is_output(const std::string& value) const {
  return std::any_of(model_.outputs.begin(), model_.outputs.end(), [&](const Value& output) { return output.name == value; });
}

const Node* Index::node(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found != nodes_.end() ? found->second : nullptr;
}

}  // namespace quasar::graph
