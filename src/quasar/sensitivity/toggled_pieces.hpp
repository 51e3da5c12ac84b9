// The float model cut into pieces for ToggledModel: every unit is a piece, which there is exact and quantized, and so is what
// stands between units.
//
// Quantization is simulated in float arithmetic, whatever the types, with the weights that the plan holds:
//   exact: y = unit(x),  quantized: ŷ = Q(unit(Q(x), Q(w)))
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::tune {

// An operator that can be left in float by itself: a weighted sum or an elementwise one, with the activations that its kernel
// absorbs. Movements go with their producer.
struct Unit {
  std::string node;
  std::string op_type;
  double inputs_per_output = 1;  // products that one output is the sum of
};

struct Piece {
  std::optional<size_t> unit;
  // Values of the float model that pass between pieces. All models below take and give them in this order (the quantized ones'
  // outputs have other names); the types of inputs are open.
  std::vector<std::string> inputs, outputs;
  graph::Model exact;
  std::vector<std::optional<graph::Model>> quantized;  // by plan; nullopt: that plan leaves the unit in float
};

struct Pieces {
  std::vector<Unit> units;
  std::vector<Piece> pieces;  // both in topological order
};

// `plans`: at least one; the first decides where the model is cut. `outputs`: the graph outputs that are wanted.
Pieces pieces_of(const graph::Model& model, std::span<const quant::Plan> plans, const std::vector<std::string>& outputs);

}  // namespace quasar::tune
