// What quantization must know of an operator: one file per family in types/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::ops {

// How a node's outputs relate to its inputs, as far as scales are concerned.
enum class Kind {
  compute,       // a weighted sum: Conv, Gemm, MatMul. Integer sums in int32, own output scale
  elementwise,   // Add, Mul, Concat, Sigmoid, AveragePool …: integer kernels exist, own output scale
  movement,      // Reshape, Transpose, MaxPool …: values pass unchanged, output shares the input's scale
  activation     // Relu, Clip: may be absorbed by the quantization of the producer's output
};

// A constant input that is quantized as a weight.
struct Weight {
  size_t input;                      // index among the node's inputs
  std::optional<int> axis = {};      // the output-channel axis, for per-channel scales; nullopt: per tensor only
};

struct Roles {
  Kind kind = Kind::compute;
  std::vector<size_t> activations;   // indices of the inputs that are quantized as activations
  std::optional<Weight> weight = {};
  std::optional<size_t> bias = {};   // index of the bias input (int32, scale = s_input · s_weight)
  bool quantizes_output = true;      // output 0 (movement: all outputs)
};

// One family of operators: the types it serves and the roles in a given node.
class OpFamily {
 public:
  virtual ~OpFamily() = default;
  virtual std::vector<std::string_view> types() const = 0;      // ONNX's own domain
  // nullopt: this node is not quantized; `why` says it in words for `quasar inspect` ("weights are not constant").
  virtual std::optional<Roles> roles(const graph::Node& node, const graph::Model& model, std::string& why) const = 0;
};

// The roles of any node; nullopt with the reason when no family serves it or the family declines.
std::optional<Roles> roles_of(const graph::Node& node, const graph::Model& model, std::string& why);

}  // namespace quasar::ops

namespace quasar::ops::types {
const Table<OpFamily>& table();
}
