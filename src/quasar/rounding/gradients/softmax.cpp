// Softmax and its logarithm.
#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class SoftmaxGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override { return {"Softmax", "LogSoftmax"}; }
  std::optional<std::string> of_input(const Backward& at, size_t) const override {
    NodeWriter& w = at.writer;
    const std::vector<int64_t> axis{at.node.integer("axis", -1)};
    if (at.node.is("LogSoftmax")) {
      const std::string all = w.reduced("ReduceSum", at.g(), axis);
      return w.subtract(at.g(), w.multiply(w.node("Exp", {at.y()}), all));
    }
    const std::string mean = w.reduced("ReduceSum", w.multiply(at.g(), at.y()), axis);
    return w.multiply(at.y(), w.subtract(at.g(), mean));
  }
};

}  // namespace

Entry<Gradient> softmax() {
  return {.help = "Softmax, LogSoftmax", .make = make_as<SoftmaxGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
