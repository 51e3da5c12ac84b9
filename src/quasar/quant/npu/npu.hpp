// What processors that shift instead of multiplying (NPUs) ask of a configuration, of a plan and of a finished model: all that
// the other folders see of this one. The rules themselves are extensions (rules/).
#pragma once

#include <string>
#include <vector>

#include "quasar/quant/config/config.hpp"
#include "quasar/quant/npu/positions.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/quant/ties.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

// Throws Error for types that have no codes with fixed scales (casts, weights only, dynamic), of the configuration or of a rule
// for layers: their nodes would run past the rules of such a processor.
void check_forms_for_shifts(const Config& config);

// Throws Error for an override of a tensor, and for a given scale, that is not 8 bits, symmetric, with a power of two.
void check_for_shifts(const std::string& name, const TensorOverride& own);
void check_for_shifts(const std::string& name, const stats::Given& given, const Scheme& activation);

// The rest of the plan, as far as its rules need it.
struct ShiftContext {
  const graph::Index& index;
  const Placement& placement;
  const Ties& ties;
  const Config& config;
  bool npu = false;
};

// Changes scales of values, weights and biases, all of which stay powers of two; nothing where no rule is on. -> what was moved,
// and which rules could not be kept, in words.
std::vector<std::string> keep_shift_rules(Plan& plan, const ShiftContext& context);

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
