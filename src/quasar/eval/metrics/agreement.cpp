// Share of samples for which the greatest output is where the float model has it (the first one when several are equal).
#include "quasar/eval/metric.hpp"
#include "quasar/eval/share.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class Agreement : public Metric, public Share {
 public:
  Direction direction() const override { return Direction::maximize; }
  bool ranks_classes() const override { return true; }
  std::optional<double> best_possible() const override { return 1; }
  bool is_proportion() const override { return true; }
  double of(const Pair& x, const Context&) const override { return rank_of(x.candidate, arg_max(x.reference)) == 0 ? 1 : 0; }
};

}  // namespace

Entry<Metric> agreement() {
  return {.help = "share of samples with the arg max of the float model", .make = make_as<Agreement, Metric>};
}

}  // namespace quasar::eval::metrics
