// Values put together, and taken apart.
#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class JoiningGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override { return {"Concat", "Split"}; }
  std::optional<std::string> of_input(const Backward& at, size_t input) const override {
    NodeWriter& w = at.writer;
    const int64_t axis = at.node.integer("axis", 0);
    if (at.node.is("Split")) {
      if (input != 0) return std::nullopt;
      std::vector<std::string> parts;
      for (size_t i = 0; i < at.gradients.size(); i++) parts.push_back(at.g(i).empty() ? w.zeros(at.y(i)) : at.g(i));
      return w.node("Concat", parts, {{"axis", axis}});
    }
    const auto size_of = [&](size_t i) { return w.node("Gather", {w.shape(at.x(i)), w.integers({axis})}); };
    std::string from = w.integers({0});
    for (size_t i = 0; i < input; i++) from = w.add(from, size_of(i));
    return w.node("Slice", {at.g(), from, w.add(from, size_of(input)), w.integers({axis})});
  }
};

}  // namespace

Entry<Gradient> joining() {
  return {.help = "Concat, Split", .make = make_as<JoiningGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
