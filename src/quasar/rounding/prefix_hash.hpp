// What the values that reach a layer depend on, as a hash that grows with the layers: trials that agree up to a layer share its
// Gram matrices.
#pragma once

#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

class PrefixHash {
 public:
  // `what`: what the values depend on besides model and plan. The plan may be completed layer by layer between calls of upto.
  PrefixHash(const graph::Model& model, const quant::Plan& plan, std::string what);

  // Of everything before a node, and of how it reads its inputs. Nodes come in the model's order.
  const std::string& upto(const std::string& node);

 private:
  void add_value(const std::string& value);
  void add_conversions(const graph::Node& node);
  void add_constant(const quant::ConstantPlan& constant);

  const graph::Model& model_;
  const quant::Plan& plan_;
  size_t next_ = 0;
  quant::Plan segment_ = {};
  std::string codes_, hash_;
};

}  // namespace quasar::tune
