// Each weight goes to the nearest code.
#include "quasar/quant/codes/gram_errors.hpp"
#include "quasar/quant/codes/rounding.hpp"

namespace quasar::quant::rounding {
namespace {

class Nearest final : public RoundingMethod {
 public:
  bool optimizes() const override { return false; }
  Solution solve(const GramProblem& problem, size_t) const override {
    Solution out{.codes = nearest_codes(problem)};
    out.before = out.after = errors(problem, out.codes);
    out.damped = damped_errors(problem, out.codes, out.after);
    return out;
  }
};

}  // namespace

Entry<RoundingMethod> nearest() {
  return {.help = "Each weight to the nearest code", .make = make_as<Nearest, RoundingMethod>, .aliases = {"rtn"}};
}

}  // namespace quasar::quant::rounding
