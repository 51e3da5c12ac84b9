// MatMul: with constant right side B [k, out] a layer whose channels are B's last axis; otherwise a product of two activations.
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class MatMul final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override { return {"MatMul"}; }

  std::optional<Roles> roles(const graph::Node& node, const graph::Model& model, std::string& why) const override {
    if (!may_be_activation(node, 0, model, why)) return std::nullopt;
    const Tensor* weights = constant_input(node, 1, model);
    if (weights == nullptr) return Roles{.kind = Kind::compute, .activations = {0, 1}};
    if (!is_quantizable_constant(weights, "weights", why)) return std::nullopt;
    Roles roles{.kind = Kind::compute, .activations = {0}, .weight = Weight{.input = 1}};
    // Stacks of matrices share their columns' scales only per tensor.
    if (weights->shape().size() == 2) roles.weight->axis = 1;
    return roles;
  }
};

}  // namespace

Entry<OpFamily> matmul() {
  return {"Matrix products of activations with weights or with each other", make_as<MatMul, OpFamily>};
}

}  // namespace quasar::ops::types
