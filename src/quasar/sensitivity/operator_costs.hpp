// What each operator costs in float and in the quantized model, in time on this machine.
#pragma once

#include <map>
#include <string>

#include "quasar/base/json.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::tune {

// Microseconds of one run, as runtime::node_times() measures them.
struct OperatorCost {
  double in_float = 0;
  double quantized = 0;  // in the quantized model, where it may stay in float
};

struct OperatorCosts {
  std::map<std::string, OperatorCost> operators;  // by name; one that is fused into another has no cost of its own
  std::map<std::string, double> entering;         // by value that becomes codes: its QuantizeLinear
  std::map<std::string, double> leaving;          // by value that becomes float again: its DequantizeLinear
  double in_float = 0, quantized = 0;             // of the whole models
};

// `quantized`: `model` as quant::apply() or quant::written() made it. Throws as runtime::node_times().
OperatorCosts operator_costs(const graph::Model& model, const graph::Model& quantized, const data::Dataset& samples,
                             double seconds = 10, int threads = 1);

// {float_us, quantized_us, entering_us, leaving_us, operators: [{node, type, float_us, quantized_us}]}: those that lose most by
// being quantized first. entering, leaving: of all values that become codes, and float again.
Json to_json(const OperatorCosts& costs, const graph::Model& model);

}  // namespace quasar::tune
