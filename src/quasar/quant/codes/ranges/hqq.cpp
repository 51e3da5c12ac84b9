// All that was seen; within it, blocks of weights find zero points that are no integers (half_quadratic.hpp).
#include "quasar/quant/codes/central_range.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant::ranges {
namespace {

class Hqq final : public RangeMethod {
 public:
  stats::Requests needs() const override { return {}; }
  BlockRange of_blocks() const override { return BlockRange::half_quadratic; }
  stats::Range pick(const stats::TensorStats& seen, const Scheme&) const override { return with_zero(seen.range); }
};

}  // namespace

Entry<RangeMethod> hqq() {
  return {.help = "Weights of 2 and 4 bits in blocks: least and greatest value, and zero points that are no integers.",
          .make = make_as<Hqq, RangeMethod>,
          .aliases = {"HalfQuadratic"}};
}

}  // namespace quasar::quant::ranges
