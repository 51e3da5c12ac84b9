// Concat: inputs keep their own scales, the output has one for all.
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class Concat final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override { return {"Concat"}; }

  std::optional<Roles> roles(const graph::Node& node, const graph::Model& model, std::string& why) const override {
    Roles roles{.kind = Kind::elementwise, .activations = {}};
    for (size_t input = 0; input < node.inputs.size(); input++) {
      if (!may_be_activation(node, input, model, why)) return std::nullopt;
      roles.activations.push_back(input);
    }
    return roles;
  }
};

}  // namespace

Entry<OpFamily> concat() {
  return {"Concatenation", make_as<Concat, OpFamily>};
}

}  // namespace quasar::ops::types
