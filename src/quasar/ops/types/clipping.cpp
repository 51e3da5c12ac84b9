// Relu and Clip: y = min(max(x, low), high). Quantization of the output clips as well, so that an integer kernel of the
// producer can do both at once.
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class Clipping final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override { return {"Relu", "Clip"}; }

  std::optional<Roles> roles(const graph::Node& node, const graph::Model& model, std::string& why) const override {
    Roles roles{.kind = Kind::activation, .activations = {0}, .bounds = Bounds{}};
    if (node.is("Relu")) {
      roles.bounds->low = 0;
    } else if (!bound(node, 1, model, roles.bounds->low, why) || !bound(node, 2, model, roles.bounds->high, why)) {
      return std::nullopt;
    }
    return roles;
  }

 private:
  static bool bound(const graph::Node& node, size_t input, const graph::Model& model, float& value, std::string& why) {
    if (!has_input(node, input)) return true;
    const Tensor* constant = constant_input(node, input, model);
    if (constant == nullptr || constant->type() != DataType::float32 || constant->count() != 1) {
      why = "bounds are not constant";
      return false;
    }
    value = constant->as<float>()[0];
    return true;
  }
};

}  // namespace

Entry<OpFamily> clipping() {
  return {"Relu and Clip", make_as<Clipping, OpFamily>};
}

}  // namespace quasar::ops::types
