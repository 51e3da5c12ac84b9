// Values of which some are taken, or taken several times. What an element of the input gives is found by sending the numbers of
// its elements the same way.
#include <algorithm>

#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class SelectionGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override {
    return {"DepthToSpace", "Expand", "Gather", "GatherElements", "GatherND", "Pad", "Resize", "Slice", "SpaceToDepth", "Where"};
  }
  std::optional<std::string> of_input(const Backward& at, size_t input) const override {
    NodeWriter& w = at.writer;
    const graph::Node& node = at.node;
    if (node.is("Where")) {
      const std::string zero = w.number(0);
      const std::string chosen = input == 1 ? w.where(at.x(), at.g(), zero) : w.where(at.x(), zero, at.g());
      return w.summed_to(chosen, at.x(input), at.y());
    }
    if (input != 0) return std::nullopt;
    if (node.is("Expand")) return w.summed_to(at.g(), at.x(), at.y());
    if (node.is("Pad")) return of_padding(at);
    if (node.is("DepthToSpace") || node.is("SpaceToDepth")) return of_blocks(at);
    if (node.is("Resize") && node.text("mode", "nearest") != "nearest") return std::nullopt;
    return w.scattered(at.g(), numbers_behind(at), at.x());
  }

 private:
  // The numbers of the input's elements where the node puts them. Resize has a kernel for 32 bits.
  static std::string numbers_behind(const Backward& at) {
    NodeWriter& w = at.writer;
    const auto cast = [&](const std::string& value, DataType type) {
      return w.node("Cast", {value}, {{"to", static_cast<int64_t>(type)}});
    };
    const bool narrow = at.node.is("Resize");
    std::vector<std::string> inputs = at.node.inputs;
    inputs.front() = narrow ? cast(w.numbers(at.x()), DataType::int32) : w.numbers(at.x());
    const std::string moved = w.node(at.node.op_type, inputs, at.node.attributes);
    return narrow ? cast(moved, DataType::int64) : moved;
  }

  static std::optional<std::string> of_padding(const Backward& at) {
    NodeWriter& w = at.writer;
    const Tensor* pads = w.constant(at.x(1));
    const bool all_axes = at.node.inputs.size() < 4 || at.x(3).empty();
    if (at.node.text("mode", "constant") != "constant" || pads == nullptr || !all_axes) return std::nullopt;
    const auto values = pads->as<int64_t>();
    if (std::ranges::any_of(values, [](int64_t pad) { return pad < 0; })) return std::nullopt;
    const std::string from = w.integers({values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2)});
    return w.node("Slice", {at.g(), from, w.add(from, w.shape(at.x()))});
  }

  static std::optional<std::string> of_blocks(const Backward& at) {
    if (at.node.text("mode", "DCR") != "DCR") return std::nullopt;
    const std::string back = at.node.is("DepthToSpace") ? "SpaceToDepth" : "DepthToSpace";
    return at.writer.node(back, {at.g()}, {{"blocksize", at.node.integer("blocksize", 1)}});
  }
};

}  // namespace

Entry<Gradient> selection() {
  return {.help = "Slice, Gather, Expand, Where, Pad with a constant, nearest Resize",
          .make = make_as<SelectionGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
