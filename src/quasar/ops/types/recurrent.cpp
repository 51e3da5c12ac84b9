// LSTM and GRU with constant weights W [directions, gates · hidden, inputs] and R [directions, gates · hidden, hidden]. Their
// gates need values of other scales than the inputs, and the states stay in float: what is quantized is the sequence that they
// read, the weights, and the sequence that they write (ONNX's Y).
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class Recurrent final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override { return {"LSTM", "GRU"}; }

  std::optional<Roles> roles(const graph::Node& node, const graph::Model& model, std::string& why) const override {
    for (const size_t weights : {1, 2}) {
      if (!is_quantizable_constant(constant_input(node, weights, model), "weights", why)) return std::nullopt;
    }
    if (node.outputs.empty() || node.outputs.front().empty()) {
      why = "only its last state is read, which stays in float";
      return std::nullopt;
    }
    return Roles{.kind = Kind::elementwise, .activations = {0, 1, 2}};
  }
};

}  // namespace

Entry<OpFamily> recurrent() {
  return {"LSTM and GRU with constant weights", make_as<Recurrent, OpFamily>};
}

}  // namespace quasar::ops::types
