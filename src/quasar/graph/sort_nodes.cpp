#include <functional>
#include <queue>

#include "quasar/base/error.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::graph {
namespace {

using Edges = std::vector<std::vector<size_t>>;

// For every node, those that read what it produces (one entry per reading).
Edges readers_of(const std::vector<Node>& nodes) {
  std::unordered_map<std::string_view, size_t> producers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& output : nodes[i].outputs) producers.emplace(output, i);
  }
  Edges readers(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const auto* values : {&nodes[i].inputs, &nodes[i].captures}) {
      for (const auto& value : *values) {
        const auto found = value.empty() ? producers.end() : producers.find(value);
        if (found != producers.end()) readers[found->second].push_back(i);
      }
    }
  }
  return readers;
}

}  // namespace

// Kahn's algorithm (1962); of all nodes that are ready, the one that stood first goes first, so a sorted list stays as it is.
void sort_nodes(Model& model) {
  const Edges readers = readers_of(model.nodes);
  std::vector<size_t> waiting(model.nodes.size(), 0);
  for (const auto& some : readers) {
    for (const size_t reader : some) ++waiting[reader];
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const size_t reader : readers[order.back()]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() != model.nodes.size()) {
    size_t stuck = 0;
    while (waiting[stuck] == 0) ++stuck;
    throw Error("the graph has a cycle that node '" + model.nodes[stuck].name + "' is part of or waits for");
  }
  std::vector<Node> sorted;
  sorted.reserve(order.size());
  for (const size_t i : order) sorted.push_back(std::move(model.nodes[i]));
  model.nodes = std::move(sorted);
}

}  // namespace quasar::graph
