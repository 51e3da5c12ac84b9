// Which schemes hold for each quantized node. A node with a rule of its own has the rule's; operators that only move or clip
// values follow the node that wrote their input; all others have the configuration's.
#pragma once

#include <map>
#include <string>

#include "quasar/quant/placement.hpp"

namespace quasar::quant {

struct NodeScheme {
  const Scheme* activation;
  const Scheme* weight;
};

class NodeSchemes {
 public:
  // All arguments must outlive it.
  NodeSchemes(const graph::Index& index, const Placement& placement, const Config& config);

  const NodeScheme& of(const std::string& node) const;  // the configuration's for nodes that are not quantized
  // In which a value is written: its producer's, or, for values from outside, the one its readers share (the configuration's
  // when they differ).
  const Scheme& written(const std::string& value) const;
  // Whether the node reads the value in another type than it is written in, so that a pair of its own must stand before it.
  bool converts(const std::string& value, const std::string& node) const;

 private:
  const graph::Index& index_;
  const Placement& placement_;
  NodeScheme usual_;
  std::map<std::string, NodeScheme> nodes_;  // those that differ
};

}  // namespace quasar::quant
