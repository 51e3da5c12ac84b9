// A finished model (QDQ), whoever made it, against the rules of processors that shift (rules/).
#pragma once

#include <string>
#include <vector>

#include "quasar/quant/npu/positions.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::quant {

// The quantized layers of a model: nodes with quantized weights, those that both read and write quantized values, and operators
// that take or make codes by themselves.
Network network_of(const graph::Model& model);

struct Violation {
  std::string node, rule, what;
  Json figures = Json::object();
};

// By node in the model's order, each fault once.
std::vector<Violation> violations(const graph::Model& model);

// Drops those of plan.refined with which the model would break a rule that it keeps without them.
void keep_refined_within_rules(Plan& plan, const graph::Model& model);

// Tells rounding how fine it may make each layer's weights without leaving the limits of shift_cut and shift_bias. `network`: of
// the plan's model.
void limit_weight_scales(Plan& plan, const Network& network);

// Whether the model has Q or DQ nodes, or operators that take or make codes by themselves (QLinearConv).
bool is_quantized(const graph::Model& model);

}  // namespace quasar::quant
