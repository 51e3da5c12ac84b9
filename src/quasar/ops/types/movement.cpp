// Operators that choose, repeat or reorder values: outputs hold nothing but values of the first input (and zeros), so they share
// its scale exactly.
#include "quasar/ops/constants.hpp"
#include "quasar/ops/op.hpp"

namespace quasar::ops::types {
namespace {

class Movement final : public OpFamily {
 public:
  std::vector<std::string_view> types() const override {
    return {"Reshape", "Flatten",      "Squeeze",      "Unsqueeze", "Transpose",     "Slice",     "Split",     "Gather", "Expand",
            "Tile",    "DepthToSpace", "SpaceToDepth", "MaxPool",   "GlobalMaxPool", "ReduceMax", "ReduceMin", "Resize", "Pad"};
  }

  std::optional<Roles> roles(const graph::Node& node, const graph::Model& model, std::string& why) const override {
    const Roles moves{.kind = Kind::movement, .activations = {0}};
    // A table of constants (an embedding): its rows are moved, and the table itself is stored as codes.
    std::string unused;
    if (node.is("Gather") && is_quantizable_constant(constant_input(node, 0, model), "table", unused))
      return Roles{.kind = Kind::compute, .activations = {}, .weight = Weight{.input = 0}};
    if (node.is("MaxPool") && node.outputs.size() > 1 && !node.outputs[1].empty()) {
      why = "its indices are used";
    } else if (node.is("Resize") && node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") {
      why = "it extrapolates";
    } else if (node.is("Resize") && node.text("mode", "nearest") != "nearest") {
      return Roles{.kind = Kind::elementwise, .activations = {0}};
    } else if (node.is("Pad") && !pads_with_own_values(node, model)) {
      why = "it pads with another value than zero";
    } else {
      return moves;
    }
    return std::nullopt;
  }

 private:
  static bool pads_with_own_values(const graph::Node& node, const graph::Model& model) {
    if (node.text("mode", "constant") != "constant" || !has_input(node, 2)) return true;
    const Tensor* value = constant_input(node, 2, model);
    return value != nullptr && value->type() == DataType::float32 && value->count() == 1 && value->as<float>()[0] == 0;
  }
};

}  // namespace

Entry<OpFamily> movement() {
  return {"Operators that move values without changing them", make_as<Movement, OpFamily>};
}

}  // namespace quasar::ops::types
