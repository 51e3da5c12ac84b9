// Gemm: Y = α·A·B + β·C with a constant B [k, out] (transB: [out, k]) and C one constant per output, or absent.
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class Gemm final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override { return {"Gemm"}; }

  std::optional<Roles> roles(const graph::Node& node, const graph::Model& model, std::string& why) const override {
    const Tensor* weights = constant_input(node, 1, model);
    if (!is_quantizable_constant(weights, "weights", why)) return std::nullopt;
    // The bias is stored with scale s_input · s_weight, which holds for a plain sum only.
    if (node.real("alpha", 1) != 1 || node.real("beta", 1) != 1) {
      why = "alpha or beta is not 1";
      return std::nullopt;
    }
    const int axis = node.integer("transB", 0) != 0 ? 0 : 1;
    Roles roles{.kind = Kind::compute, .activations = {0}, .weight = Weight{.input = 1, .axis = axis}};
    if (has_input(node, 2)) {
      const Tensor* bias = constant_input(node, 2, model);
      if (!is_quantizable_constant(bias, "bias", why)) return std::nullopt;
      const auto outputs = static_cast<size_t>(weights->shape().at(static_cast<size_t>(axis)));
      if (bias->count() != outputs || bias->shape().empty() || bias->shape().back() != static_cast<int64_t>(outputs)) {
        why = "bias is not one value per output";
        return std::nullopt;
      }
      roles.bias = 2;
    }
    return roles;
  }
};

}  // namespace

Entry<OpFamily> gemm() {
  return {"Gemm with constant weights", make_as<Gemm, OpFamily>};
}

}  // namespace quasar::ops::types
