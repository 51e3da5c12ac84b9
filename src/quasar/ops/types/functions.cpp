// Functions of one tensor with an output scale of their own: curves, Softmax, interpolation.
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class Functions final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override {
    return {"LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Elu", "Gelu",
            "Erf",       "Softmax", "LpNormalization"};
  }

  std::optional<Roles> roles(const graph::Node&, const graph::Model&, std::string&) const override {
    return Roles{.kind = Kind::elementwise, .activations = {0}};
  }
};

}  // namespace

Entry<OpFamily> functions() {
  return {"Functions of one tensor", make_as<Functions, OpFamily>};
}

}  // namespace quasar::ops::types
