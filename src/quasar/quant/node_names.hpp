// The names that users know, on the graph as it came, and the nodes of the cleaned graph that stand for them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/config.hpp"

namespace quasar::quant {

class NodeNames {
 public:
  NodeNames(const graph::Model& original, const graph::Model& prepared);

  // The configuration with its exclude list and layer rules resolved: exclude holds names of the prepared graph, and so do the
  // rules' nodes. Names, patterns, types and stretches are looked for in the graph as it came, then in the prepared one. A node
  // that was folded into another one (a BatchNormalization into its Conv) stands for that one; what was folded into a constant,
  // or did nothing, stands for none. Throws Error for what matches no node of either graph.
  Config resolved(const Config& config) const;

 private:
  std::set<std::string> survivors(const std::string& name) const;
  std::set<std::string> selected(const Json& element) const;
  std::set<std::string> named(const std::string& name, const std::string& key) const;

  graph::Model original_, prepared_;  // without their constants
  std::set<std::string> constants_;   // of the prepared graph
};

}  // namespace quasar::quant
