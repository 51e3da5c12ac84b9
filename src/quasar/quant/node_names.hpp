// The names that users know, on the graph as it came, and the nodes of the cleaned graph that stand for them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/layer_kinds.hpp"

namespace quasar::quant {

class NodeNames {
 public:
  NodeNames(const graph::Model& original, const graph::Model& prepared);
  NodeNames(const NodeNames&) = delete;
  NodeNames& operator=(const NodeNames&) = delete;

  // The configuration with its exclude list, layer rules and selections (name_lists(): NodesToQuantize and its like) resolved:
  // they hold names of the prepared graph then, those of layer_kinds too. Names, patterns, types and stretches are looked for in
  // the graph as it came, then in the prepared one. A node that was folded into another one (a BatchNormalization into its Conv)
  // stands for that one; what was folded into a constant, or did nothing, stands for none. Throws Error for names and patterns
  // that match no node of either graph, for operator types that neither has and that have no quantized form, for selections of
  // which nothing is left, and for overrides of values that clean-up removed.
  Config resolved(const Config& config) const;

  // Operator types and kinds of layers that the configuration names and neither graph has, in words.
  std::vector<std::string> notes(const Config& config) const;

  // The nodes of the prepared graph that stand for a node of the graph as it came: itself, the one it was folded into, or none.
  std::set<std::string> survivors(const std::string& name) const;

 private:
  bool has_type(const std::string& type) const;
  std::set<std::string> with_rest(const graph::Node& node) const;
  std::set<std::string> selected(const Json& element) const;
  std::set<std::string> of_model(const std::string& model) const;
  std::set<std::string> named(const std::string& name, const std::string& key) const;

  const graph::Model original_, prepared_;  // without their constants
  const graph::Index before_, after_;
  const LayerKinds kinds_;
  std::set<std::string> constants_;  // of the prepared graph
  std::vector<std::string> models_;  // of a pipeline
};

}  // namespace quasar::quant
