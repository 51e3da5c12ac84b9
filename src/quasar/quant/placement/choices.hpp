// Nodes that a configuration leaves in float by its own choice.
#pragma once

#include "quasar/ops/op.hpp"
#include "quasar/quant/placement/placement_context.hpp"

namespace quasar::quant {

class Choices {
 public:
  // Throws Error for names in the configuration that the model does not have.
  explicit Choices(const PlacementContext& context);

  // Why the configuration leaves the node in float whatever the node does; "": it does not. Those below come after it.
  std::string against(const graph::Node& node) const;
  // "": the configuration quantizes operators of this kind.
  std::string against_kind(const graph::Node& node, ops::Kind kind) const;
  // Of a node between pairs: by kind, by a switch, by a rule of its own. May change its roles.
  std::string against_pairs(const graph::Node& node, ops::Roles& roles) const;

 private:
  std::string switched_off(const graph::Node& node, ops::Roles& roles) const;

  const PlacementContext& context_;
  const std::set<std::string> excluded_;
  const std::map<std::string, std::string> unselected_;
};

}  // namespace quasar::quant
