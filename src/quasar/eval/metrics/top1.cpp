// Share of samples whose greatest output is that of the label (the first one when several are equal).
#include "quasar/eval/metric.hpp"
#include "quasar/eval/share.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class Top1 : public Metric, public Share {
 public:
  Direction direction() const override { return Direction::maximize; }
  bool ranks_classes() const override { return true; }
  std::optional<double> best_possible() const override { return 1; }
  Truth needs() const override { return Truth::label; }
  bool is_proportion() const override { return true; }
  double of(const Pair& x, const Context&) const override {
    const auto label = static_cast<size_t>(x.label.value());
    return label < x.candidate.size() && rank_of(x.candidate, label) == 0 ? 1 : 0;
  }
};

}  // namespace

Entry<Metric> top1() {
  return {.help = "share of samples whose label has the greatest output", .make = make_as<Top1, Metric>, .aliases = {"accuracy"}};
}

}  // namespace quasar::eval::metrics
