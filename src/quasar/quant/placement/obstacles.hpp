// Why a node that could stand between pairs cannot: its values, its sizes, or what the target runs.
#pragma once

#include <optional>

#include "quasar/ops/op.hpp"
#include "quasar/quant/placement/placement_context.hpp"

namespace quasar::quant {

class Obstacles {
 public:
  // `quantizable`: the roles of the nodes that can be quantized at all, by name.
  Obstacles(const PlacementContext& context, const std::map<std::string, ops::Roles>& quantizable);

  // "": nothing is in the way.
  std::string to(const graph::Node& node, const ops::Roles& roles);

  // Placement::softmaxes, of those that were asked about.
  std::map<std::string, int64_t> softmaxes() const { return softmaxes_; }

 private:
  std::string of_values(const graph::Node& node, const ops::Roles& roles);
  std::string of_functions(const graph::Node& node);
  std::string of_sizes(const graph::Node& node, const ops::Roles& roles);
  std::string unseen(const graph::Node& node, const ops::Roles& roles) const;
  std::string barrier(const graph::Node& node, const ops::Roles& roles) const;
  std::string absurd_constant(const graph::Node& node, const ops::Roles& roles) const;
  std::string shifted_border(const graph::Node& node, const ops::Roles& roles) const;
  bool is_never_negative(const std::string& value) const;
  std::string too_few_bits(const graph::Node& node, const ops::Roles& roles) const;
  std::string too_many_axes(const graph::Node& node, const ops::Roles& roles) const;
  std::string unfit_sizes(const graph::Node& node, const ops::Roles& roles) const;
  std::string softmax_obstacle(const graph::Node& node);
  std::string open_batch(const graph::Node& node);
  bool is_part(const std::string& node);
  bool is_part_of_gelu(const std::string& node);

  const PlacementContext& context_;
  const std::map<std::string, std::string> unfit_;  // value -> why it cannot have 4 bits
  const bool sampled_;                              // whether values were observed, not only shapes known or ranges given
  std::map<std::string, int64_t> softmaxes_;
  std::optional<std::set<std::string>> parts_;            // of functions; nullopt: nobody asked for them
  std::optional<std::set<std::string>> gelu_parts_;       // asked for once, if at all
  std::optional<std::map<std::string, Shape>> declared_;  // what the model says of its shapes; asked for once, if at all
};

}  // namespace quasar::quant
