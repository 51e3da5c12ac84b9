// Functions of each element by itself.
#include <numbers>

#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class FunctionGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override {
    return {"Abs", "Clip", "Cos",   "Elu",        "Erf",  "Exp",     "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu",
            "Log", "Neg",  "PRelu", "Reciprocal", "Relu", "Sigmoid", "Sin",  "Softplus",    "Sqrt",      "Tanh"};
  }
  std::optional<std::string> of_input(const Backward& at, size_t input) const override {
    if (input != 0) return std::nullopt;
    if (at.node.is("Gelu") && at.node.text("approximate", "none") != "none") return std::nullopt;
    for (const auto& slopes : {by_output, by_input, by_pieces}) {
      const std::string slope = slopes(at);
      if (!slope.empty()) return at.writer.multiply(at.g(), slope);
    }
    return std::nullopt;
  }

 private:
  // Slopes that follow from the output; "": of another function.
  static std::string by_output(const Backward& at) {
    NodeWriter& w = at.writer;
    const graph::Node& node = at.node;
    if (node.is("Relu")) return w.as_float(w.node("Greater", {at.y(), w.number(0)}));
    if (node.is("Clip")) return w.as_float(w.node("Equal", {at.x(), at.y()}));
    if (node.is("Exp")) return at.y();
    if (node.is("Sigmoid")) return w.multiply(at.y(), w.subtract(w.number(1), at.y()));
    if (node.is("Sqrt")) return w.divide(w.number(0.5F), at.y());
    if (node.is("Tanh")) return w.subtract(w.number(1), w.multiply(at.y(), at.y()));
    if (node.is("Reciprocal")) return w.node("Neg", {w.multiply(at.y(), at.y())});
    if (node.is("HardSigmoid")) {
      const std::string inside = w.node("And", {w.node("Greater", {at.y(), w.number(0)}), w.node("Less", {at.y(), w.number(1)})});
      return w.multiply(w.as_float(inside), w.number(node.real("alpha", 0.2F)));
    }
    return "";
  }

  // Slopes that follow from the input.
  static std::string by_input(const Backward& at) {
    NodeWriter& w = at.writer;
    const graph::Node& node = at.node;
    if (node.is("Abs")) return w.node("Sign", {at.x()});
    if (node.is("Cos")) return w.node("Neg", {w.node("Sin", {at.x()})});
    if (node.is("Log")) return w.node("Reciprocal", {at.x()});
    if (node.is("Neg")) return w.number(-1);
    if (node.is("Sin")) return w.node("Cos", {at.x()});
    if (node.is("Softplus")) return w.node("Sigmoid", {at.x()});
    const std::string square = node.is("Erf") || node.is("Gelu") ? w.multiply(at.x(), at.x()) : "";
    if (node.is("Erf"))
      return w.multiply(w.number(2 * std::numbers::inv_sqrtpi_v<float>), w.node("Exp", {w.node("Neg", {square})}));
    if (!node.is("Gelu")) return "";
    // Φ(x) + x φ(x), of the normal distribution
    const float root = std::numbers::sqrt2_v<float>;
    const std::string erf = w.node("Erf", {w.divide(at.x(), w.number(root))});
    const std::string below = w.multiply(w.number(0.5F), w.add(w.number(1), erf));
    const std::string bell = w.node("Exp", {w.multiply(w.number(-0.5F), square)});
    const std::string density = w.multiply(w.number(std::numbers::inv_sqrtpi_v<float> / root), bell);
    return w.add(below, w.multiply(at.x(), density));
  }

  // Functions with one slope on each side of a place.
  static std::string by_pieces(const Backward& at) {
    NodeWriter& w = at.writer;
    const graph::Node& node = at.node;
    const std::string positive = w.node("Greater", {at.x(), w.number(0)});
    if (node.is("LeakyRelu")) return w.where(positive, w.number(1), w.number(node.real("alpha", 0.01F)));
    if (node.is("PRelu")) return w.where(positive, w.number(1), at.x(1));
    if (node.is("Elu")) return w.where(positive, w.number(1), w.add(at.y(), w.number(node.real("alpha", 1))));
    if (!node.is("HardSwish")) return "";
    const std::string between = w.node("Less", {w.node("Abs", {at.x()}), w.number(3)});
    const std::string inner = w.add(w.divide(at.x(), w.number(3)), w.number(0.5F));  // of x (x + 3) / 6
    return w.where(between, inner, w.as_float(positive));
  }
};

}  // namespace

Entry<Gradient> functions() {
  return {.help = "Relu, Clip, Sigmoid, Erf and other functions of one value", .make = make_as<FunctionGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
