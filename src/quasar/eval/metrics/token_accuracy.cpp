// Share of the places of a sequence that get the right class (the greatest of an output [1, length, classes]); the mean over
// samples. Padded places and those with the label `ignore` do not count; a sample that has no others counts as right.
#include "quasar/eval/answers.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/eval/share.hpp"

namespace quasar::eval::metrics {
namespace {

class TokenAccuracy : public Metric, public Share {
 public:
  explicit TokenAccuracy(const Options& options)
      : as_float_(options.text("truth") == "float"), ignore_(options.integer("ignore")), mask_(options) {}
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 1; }
  Truth needs() const override { return as_float_ ? Truth::none : Truth::target; }
  std::vector<WantedInput> looks_at() const override { return mask_.looks_at(); }

  double of(const Pair& x, const Context&) const override {
    const auto answers = answers_of(x.candidate, x.layout, ClassAxis::last, "metric token_accuracy");
    const auto truth = truth_of(x, as_float_, ClassAxis::last, answers.size(), "metric token_accuracy");
    const auto counts = mask_.of(x, 1, answers.size(), "metric token_accuracy");
    double right = 0, all = 0;
    for (size_t i = 0; i < answers.size(); ++i) {
      if (!counts[i] || truth[i] == ignore_) continue;
      right += truth[i] == answers[i] ? 1 : 0;
      all += 1;
    }
    return all == 0 ? 1 : right / all;
  }

 private:
  bool as_float_;
  int64_t ignore_;
  PlaceMask mask_;
};

}  // namespace

Entry<Metric> token_accuracy() {
  return {.help = "share of a sequence's places with the right class, of outputs [1,length,classes]",
          .make = make_as<TokenAccuracy, Metric>,
          .options = {truth_option(), {"ignore", -100, "a label that does not count"}, PlaceMask::option()}};
}

}  // namespace quasar::eval::metrics
