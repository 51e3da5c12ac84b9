// What a report shows of a quantized model: every operator with its precision, and the distributions behind the worst of them.
#pragma once

#include <map>
#include <string>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/rounding/rounding.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::tune {

struct QuantizedFacts {
  const graph::Model& model;  // the float model
  const quant::Plan& plan;
  const stats::Statistics& seen;
  const std::map<std::string, bool>& runs;  // node -> runs in integer kernels
  const Json& rounding;                     // a trial's "rounding" (to_json of a RoundingReport), or null
};

// [{node, type, runs: "integer" | "float", activation: "uint8", weight: "int8 per channel", weight_error, error: {before, after,
// alone}, why}] of the operators that could be quantized, in graph order; what is not known is left out.
//   weight_error: mean squared error of the nearest codes over the weights' mean square, where rounding was not optimized
Json layers_of(const QuantizedFacts& facts);

// Of the `count` layers that lose most: [{node, type, activation: {name, …}, weight: {…}}] with
// {type, low, high, counts, range: [least, greatest that codes express], clipped: share of values outside}.
Json ranges_of(const QuantizedFacts& facts, const Json& layers, size_t count = 6);

}  // namespace quasar::tune
