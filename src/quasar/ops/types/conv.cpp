// Conv and ConvTranspose: y = w ∗ x + b, one output channel per slice of w along the channel axis.
//   Conv           w [out, in/group, k…], channel axis 0
//   ConvTranspose  w [in, out/group, k…], channel axis 1 (with one group; a slice spans several channels otherwise)
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class Conv final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override { return {"Conv", "ConvTranspose"}; }

  std::optional<Roles> roles(const graph::Node& node, const graph::Model& model, std::string& why) const override {
    if (!is_quantizable_constant(constant_input(node, 1, model), "weights", why)) return std::nullopt;
    if (has_input(node, 2) && !is_quantizable_constant(constant_input(node, 2, model), "bias", why)) return std::nullopt;
    Roles roles{.kind = Kind::compute, .activations = {0}, .weight = Weight{.input = 1}};
    if (node.is("Conv")) roles.weight->axis = 0;
    if (node.is("ConvTranspose") && node.integer("group", 1) == 1) roles.weight->axis = 1;
    if (has_input(node, 2)) roles.bias = 2;
    return roles;
  }
};

}  // namespace

Entry<OpFamily> conv() {
  return {"Convolutions with constant weights", make_as<Conv, OpFamily>};
}

}  // namespace quasar::ops::types
