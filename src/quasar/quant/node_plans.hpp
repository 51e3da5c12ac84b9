// The plan of a single node: the parameters of its weights, bias and constants, and how it is simulated.
#pragma once

#include <string>
#include <vector>

#include "quasar/quant/plan.hpp"
#include "quasar/quant/value_params.hpp"

namespace quasar::quant {

class NodePlans {
 public:
  NodePlans(const Ground& ground, ValueParams& values) : at_(ground), values_(values) {}

  // Throws Error for weights in blocks that the model's opset does not have.
  NodePlan of(const graph::Node& node, const ops::Roles& roles);
  // Large constants of nodes that are not quantized themselves: in 16-bit floating point they take half the space.
  void store_the_rest(Plan& plan) const;
  // What was changed so that a bias fits, or a kernel takes the weights, in words.
  std::vector<std::string> notes() const;

 private:
  ConstantPlan bias(const graph::Node& node, const ops::Roles& roles, const Scheme& scheme, ConstantPlan& weight);
  void limit(const graph::Node& node, const ops::Roles& roles, ConstantPlan& weight);
  int32_t most_input(const graph::Node& node, const ops::Roles& roles);
  float make_room(const graph::Node& node, const Tensor& bias, const Scheme& scheme, ConstantPlan& weight);
  const Tensor* vector_behind(const graph::Node& node) const;
  Scheme weight_scheme(const graph::Node& node, const ops::Roles& roles);
  QuantParams constant(const Tensor& values, const graph::Node& node);
  void widen_bias(NodePlan& plan, const graph::Node& sum, const std::string& product) const;
  void check_blocks(const QuantParams& params) const;
  const Shape* shape_of(const std::string& value) const;

  const Ground& at_;
  ValueParams& values_;
  std::vector<std::string> notes_, without_blocks_, made_unsigned_;
};

}  // namespace quasar::quant
