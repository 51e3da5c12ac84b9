// Values that stand elsewhere in the output.
#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class MovementGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override {
    return {"Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  }
  std::optional<std::string> of_input(const Backward& at, size_t input) const override {
    if (input != 0) return std::nullopt;
    if (at.node.is("Cast") && at.writer.type(at.y()) != DataType::float32) return std::nullopt;
    if (!at.node.is("Transpose")) return at.writer.like(at.g(), at.x());
    const std::vector<int64_t> order = at.node.integers("perm");
    if (order.empty()) return at.writer.node("Transpose", {at.g()});  // reversed axes, and back
    std::vector<int64_t> back(order.size());
    for (size_t i = 0; i < order.size(); i++) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return at.writer.node("Transpose", {at.g()}, {{"perm", back}});
  }
};

}  // namespace

Entry<Gradient> movement() {
  return {.help = "Reshape, Transpose and others that move values", .make = make_as<MovementGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
