// The nodes of a finished model as they stand between Q/DQ pairs, whoever made it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Whether the node is a Q or a DQ with scales to read: ONNX's, com.microsoft's or a peer's (ExtendedQuantizeLinear). nullptr: no.
bool quantizes(const graph::Node* node);
bool dequantizes(const graph::Node* node);
// Whether the operator takes or makes codes without pairs: ONNX's and ONNX Runtime's.
bool has_own_codes(const graph::Node& node);

// What a pair says of a value.
struct Pair {
  std::string value;                    // its name before the pair; of a constant, that of its codes
  DataType type = DataType::undefined;  // of the codes
  bool zero_based = true;               // every zero point is 0
  double scale = 1;                     // the first, and its zero point
  int32_t zero_point = 0;
  size_t scales = 1;  // how many there are; along this axis, counted from the front, or of blocks
  int64_t axis = 1, block = 0;
  Shape shape = {};  // of a constant's codes; empty: not known
  bool constant = false;
  bool moved = false;  // an operator that computes nothing (Reshape …) wrote it
  size_t readers = 1;  // nodes that read what the pair gives
};

struct NodeInPairs {
  const graph::Node& node;
  std::vector<std::optional<Pair>> inputs;  // as the node's; nullopt: a float value, or left out
  std::optional<Pair> output = {};          // of its first output; nullopt: no pair stands behind it
};

// Whether its pairs stand there for this node: nobody else reads what they give, and it writes codes again. Where the node runs
// in float they only round.
bool only_rounds(const NodeInPairs& at);

// The names of the nodes that the pairs around them ask to compute in integers: sums whose weights are in codes, and those whose
// pairs stand there for them alone. In the model's order.
std::vector<std::string> asked_for_integers(const graph::Model& model);

// Which rule a node breaks, and how, in a sentence; both empty: none.
struct PairFault {
  std::string rule = {}, what = {};
};

struct NodeFault {
  std::string node = {};
  PairFault fault = {};
};

// Of targets whose values have one scale, and whose weights one or one per output: rules `values` and `weights`.
PairFault fault_of_scales(const NodeInPairs& at);

// Whether the node is a Pad with a constant that lies more than a step beyond the grid of the pair before it.
bool pads_beyond(const graph::Node& pad, const Pair& before, const graph::Model& model);

// Every node but Q and DQ themselves that reads a pair, writes one, or has codes of its own; in the model's order. Valid as long
// as the model.
std::vector<NodeInPairs> nodes_in_pairs(const graph::Model& model);

// The names of operators that the model came with in codes: on codes themselves, with weights in codes, or between pairs; the
// activations behind them, and what scales the sums of MatMulInteger and ConvInteger. Empty for float models.
std::set<std::string> quantized_before(const graph::Index& index);

// Says how many these are; "" for float models.
std::string note_on_codes(const graph::Model& model);

// What a Q or DQ says, where it has one scale, which is constant; nullopt: it has not.
std::optional<Pair> grid_of(const graph::Node& pair, const graph::Index& index);

// The same of the DQ that writes the value, or of the first Q that reads it; nullopt: there is none.
std::optional<Pair> pair_of(const std::string& value, const graph::Index& index);

}  // namespace quasar::quant
