// Add, Sub, Mul, Div of two tensors (one may be constant), Min and Max of any number, and Where, which chooses between two.
#include <numeric>

#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class Arithmetic final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override { return {"Add", "Sub", "Mul", "Div", "Min", "Max", "Where"}; }

  std::optional<Roles> roles(const graph::Node& node, const graph::Model& model, std::string& why) const override {
    Roles roles{.kind = Kind::elementwise, .activations = {0, 1}};
    if (node.is("Where")) roles.activations = {1, 2};
    if (node.is("Min") || node.is("Max")) {
      roles.activations.resize(node.inputs.size());
      std::iota(roles.activations.begin(), roles.activations.end(), size_t{0});
    }
    for (const size_t input : roles.activations) {
      if (!may_be_activation(node, input, model, why)) return std::nullopt;
    }
    return roles;
  }
};

}  // namespace

Entry<OpFamily> arithmetic() {
  return {"Sums, products and choices of two tensors", make_as<Arithmetic, OpFamily>};
}

}  // namespace quasar::ops::types
