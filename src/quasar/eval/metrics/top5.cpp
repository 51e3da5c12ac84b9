// Share of samples whose label is among the five greatest outputs (earlier places first when several are equal).
#include "quasar/eval/metric.hpp"
#include "quasar/eval/share.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class Top5 : public Metric, public Share {
 public:
  Direction direction() const override { return Direction::maximize; }
  bool ranks_classes() const override { return true; }
  std::optional<double> best_possible() const override { return 1; }
  Truth needs() const override { return Truth::label; }
  bool is_proportion() const override { return true; }
  double of(const Pair& x, const Context&) const override {
    const auto label = static_cast<size_t>(x.label.value());
    return label < x.candidate.size() && rank_of(x.candidate, label) < 5 ? 1 : 0;
  }
};

}  // namespace

Entry<Metric> top5() {
  return {.help = "share of samples whose label is among the five greatest outputs", .make = make_as<Top5, Metric>};
}

}  // namespace quasar::eval::metrics
