// Share of samples whose label is among the k greatest outputs (earlier places first when several are equal).
#include "quasar/eval/metric.hpp"
#include "quasar/eval/share.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class TopK : public Metric, public Share {
 public:
  explicit TopK(const Options& options) : k_(static_cast<size_t>(options.integer("k"))) {}
  Direction direction() const override { return Direction::maximize; }
  bool ranks_classes() const override { return true; }
  std::optional<double> best_possible() const override { return 1; }
  Truth needs() const override { return Truth::label; }
  bool is_proportion() const override { return true; }
  double of(const Pair& x, const Context&) const override {
    const auto label = static_cast<size_t>(x.label.value());
    return label < x.candidate.size() && rank_of(x.candidate, label) < k_ ? 1 : 0;
  }

 private:
  size_t k_;
};

}  // namespace

Entry<Metric> topk() {
  return {.help = "share of samples whose label is among the k greatest outputs",
          .make = make_as<TopK, Metric>,
          .options = {{"k", 5, "how many of the greatest outputs count", 1}}};
}

}  // namespace quasar::eval::metrics
