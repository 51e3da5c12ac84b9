// Sums, products, quotients and powers of two values, the smaller one broadcast.
#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class ArithmeticGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override { return {"Add", "Sub", "Mul", "Div", "Pow"}; }
  std::optional<std::string> of_input(const Backward& at, size_t input) const override {
    const auto gradient = before_sum(at, input);
    if (!gradient) return std::nullopt;
    return at.writer.summed_to(*gradient, at.x(input), at.y());
  }

 private:
  // In the shape of the output.
  static std::optional<std::string> before_sum(const Backward& at, size_t input) {
    NodeWriter& w = at.writer;
    if (at.node.is("Add")) return at.g();
    if (at.node.is("Sub")) return input == 0 ? at.g() : w.node("Neg", {at.g()});
    if (at.node.is("Mul")) return w.multiply(at.g(), at.x(1 - input));
    if (at.node.is("Div")) {
      const std::string first = w.divide(at.g(), at.x(1));
      return input == 0 ? first : w.node("Neg", {w.multiply(first, at.y())});
    }
    if (input == 1 || w.type(at.x(1)) != DataType::float32) return std::nullopt;
    const std::string lower = w.node("Pow", {at.x(), w.subtract(at.x(1), w.number(1))});
    return w.multiply(at.g(), w.multiply(at.x(1), lower));
  }
};

}  // namespace

Entry<Gradient> arithmetic() {
  return {.help = "Add, Sub, Mul, Div, Pow with a constant exponent", .make = make_as<ArithmeticGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
