// Sums and means over axes.
#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class ReductionGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override { return {"ReduceL2", "ReduceMean", "ReduceSum"}; }
  std::optional<std::string> of_input(const Backward& at, size_t input) const override {
    NodeWriter& w = at.writer;
    if (input != 0 || at.node.integer("noop_with_empty_axes", 0) != 0) return std::nullopt;
    const std::string gradient = with_axes(at, at.g());
    if (at.node.is("ReduceL2")) return w.multiply(at.x(), w.divide(gradient, with_axes(at, at.y())));
    const std::string spread = w.node("Expand", {gradient, w.shape(at.x())});
    if (at.node.is("ReduceSum")) return spread;
    const std::string count = w.as_float(w.divide(w.node("Size", {at.x()}), w.node("Size", {at.y()})));
    return w.divide(spread, count);
  }

 private:
  // In the shape of the input but for one element along each axis that was reduced.
  static std::string with_axes(const Backward& at, const std::string& value) {
    NodeWriter& w = at.writer;
    if (at.node.integer("keepdims", 1) != 0) return value;
    const bool given = at.node.inputs.size() > 1 && !at.x(1).empty();
    if (given) return w.node("Unsqueeze", {value, at.x(1)});
    const std::vector<int64_t> axes = at.node.integers("axes");
    return axes.empty() ? value : w.node("Unsqueeze", {value, w.integers(axes)});
  }
};

}  // namespace

Entry<Gradient> reductions() {
  return {.help = "ReduceMean, ReduceSum, ReduceL2", .make = make_as<ReductionGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
