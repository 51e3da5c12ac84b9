// x̂ = (x − mean) / √(var + ε) over some axes, times a gain, and constants in their place.
#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class NormalizationGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override {
    return {"BatchNormalization", "InstanceNormalization", "LayerNormalization"};
  }
  std::optional<std::string> of_input(const Backward& at, size_t input) const override {
    const auto rank = at.writer.rank(at.x());
    if (input != 0 || !rank || *rank < 2 || !at.only_first()) return std::nullopt;
    if (!at.node.is("LayerNormalization") && *rank < 3) return std::nullopt;
    NodeWriter& w = at.writer;
    if (at.node.is("BatchNormalization")) {
      const std::string deviation = w.node("Sqrt", {w.add(at.x(4), w.number(at.node.real("epsilon", 1e-5F)))});
      return w.multiply(at.g(), by_channel(at, w.divide(at.x(1), deviation), *rank));
    }
    const auto last = static_cast<int64_t>(*rank);
    const bool layer = at.node.is("LayerNormalization");
    int64_t first = layer ? at.node.integer("axis", -1) : 2;
    if (first < 0) first += last;
    std::vector<int64_t> axes;
    for (int64_t axis = first; axis < last; axis++) axes.push_back(axis);
    return normalized(at, w.multiply(at.g(), layer ? at.x(1) : by_channel(at, at.x(1), *rank)), axes);
  }

 private:
  // A vector of one value per channel, to be broadcast.
  static std::string by_channel(const Backward& at, const std::string& values, size_t rank) {
    std::vector<int64_t> axes;
    for (size_t axis = 2; axis < rank; axis++) axes.push_back(static_cast<int64_t>(axis) - 1);
    return at.writer.node("Unsqueeze", {values, at.writer.integers(axes)});
  }

  // ∂L/∂x = (h − mean h − x̂ mean(h x̂)) / √(var + ε), h = ∂L/∂x̂
  static std::string normalized(const Backward& at, const std::string& h, const std::vector<int64_t>& axes) {
    NodeWriter& w = at.writer;
    const auto mean = [&](const std::string& value) { return w.reduced("ReduceMean", value, axes); };
    const std::string centred = w.subtract(at.x(), mean(at.x()));
    const std::string variance = mean(w.multiply(centred, centred));
    const std::string deviation = w.node("Sqrt", {w.add(variance, w.number(at.node.real("epsilon", 1e-5F)))});
    const std::string hat = w.divide(centred, deviation);
    const std::string along = w.multiply(hat, mean(w.multiply(h, hat)));
    return w.divide(w.subtract(w.subtract(h, mean(h)), along), deviation);
  }
};

}  // namespace

Entry<Gradient> normalization() {
  return {.help = "LayerNormalization, InstanceNormalization, BatchNormalization",
          .make = make_as<NormalizationGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
