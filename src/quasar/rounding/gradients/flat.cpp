// Functions that change in steps: their slope is zero.
#include "quasar/rounding/gradient.hpp"

namespace quasar::tune::gradients {
namespace {

class FlatGradient final : public Gradient {
 public:
  std::vector<std::string_view> types() const override { return {"Ceil", "Floor", "Round", "Sign"}; }
  std::optional<std::string> of_input(const Backward&, size_t) const override { return ""; }
};

}  // namespace

Entry<Gradient> flat() {
  return {.help = "Ceil, Floor, Round, Sign: zero", .make = make_as<FlatGradient, Gradient>};
}

}  // namespace quasar::tune::gradients
