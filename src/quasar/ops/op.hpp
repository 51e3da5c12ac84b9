// What quantization must know of an operator: one file per family in types/.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::ops {

// How a node's outputs relate to its inputs, as far as scales are concerned.
enum class Kind {
  compute,      // a weighted sum: Conv, Gemm, MatMul. Integer sums in int32, own output scale
  elementwise,  // Add, Mul, Concat, Sigmoid, AveragePool …: own output scale
  movement,     // Reshape, Transpose, MaxPool …: values pass unchanged, outputs share the input's scale
  activation    // Relu, Clip: may be absorbed by the quantization of the producer's output
};

// A constant input that is quantized as a weight.
struct Weight {
  size_t input;                  // index among the node's inputs
  std::optional<int> axis = {};  // the output-channel axis, for per-channel scales; nullopt: per tensor only
};

// The interval to which an activation clips its input.
struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

struct Roles {
  Kind kind = Kind::compute;
  std::vector<size_t> activations;  // indices of the inputs that are quantized as activations; movement: exactly one
  std::optional<Weight> weight = {};
  std::optional<size_t> bias = {};  // index of the bias input (int32, scale = s_input · s_weight): one value per output channel
  std::optional<Bounds> bounds = {};  // activation: where it clips
};

// One family of operators: the types it serves and the roles in a given node.
class OpFamily {
 public:
  virtual ~OpFamily() = default;
  virtual std::vector<std::string_view> types() const = 0;  // ONNX's own domain
  // nullopt: this node is not quantized; `why` says it in words for `quasar inspect` ("weights are not constant").
  virtual std::optional<Roles> roles(const graph::Node& node, const graph::Model& model, std::string& why) const = 0;
};

// The roles of any node; nullopt with the reason when no family serves it or the family declines. The types of values that
// are not constant are not looked at: survey() does.
std::optional<Roles> roles_of(const graph::Node& node, const graph::Model& model, std::string& why);

// The values of the main graph that are known to be float32 tensors (initializers left out), from the types of the inputs and
// constants. Outputs of control flow and of foreign operators are unknown and left out.
std::set<std::string> float_values(const graph::Model& model);

// Whether the node is an LSTM or a GRU: operators with two weights, W and R, and with states of their own.
inline bool is_recurrent(const graph::Node& node) {
  return node.is("LSTM") || node.is("GRU");
}

// All nodes that could be quantized, and those that belong to a family but cannot be, with the reason.
struct Survey {
  std::map<std::string, Roles> quantizable;  // by node name
  std::map<std::string, std::string> declined;
};
Survey survey(const graph::Model& model);

}  // namespace quasar::ops

namespace quasar::ops::types {
const Table<OpFamily>& table();
}
