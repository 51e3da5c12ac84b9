// Share of samples whose whole sequence is right: words, plates, transcripts. With `blank` the output is one of connectionist
// temporal classification (Graves et al. 2006): repeated classes are merged, then blanks dropped, and labels are compared without
// `ignore`.
#include "quasar/eval/answers.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/eval/share.hpp"

namespace quasar::eval::metrics {
namespace {

class SequenceAccuracy : public Metric, public Share {
 public:
  explicit SequenceAccuracy(const Options& options)
      : as_float_(options.text("truth") == "float"),
        blank_(class_option(options, "blank", "metric sequence_accuracy")),
        ignore_(options.integer("ignore")) {}
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 1; }
  Truth needs() const override { return as_float_ ? Truth::none : Truth::target; }
  bool is_proportion() const override { return true; }

  double of(const Pair& x, const Context&) const override {
    const auto answers = answers_of(x.candidate, x.layout, ClassAxis::last, "metric sequence_accuracy");
    if (blank_) {
      const auto text = as_float_ ? ctc_text(reference(x), *blank_) : without_ignored(*x.target, ignore_);
      return ctc_text(answers, *blank_) == text ? 1 : 0;
    }
    const auto truth = truth_of(x, as_float_, ClassAxis::last, answers.size(), "metric sequence_accuracy");
    for (size_t i = 0; i < answers.size(); ++i) {
      if (truth[i] != ignore_ && truth[i] != answers[i]) return 0;
    }
    return 1;
  }

 private:
  static std::vector<int64_t> reference(const Pair& x) {
    return answers_of(x.reference, x.layout, ClassAxis::last, "metric sequence_accuracy");
  }

  bool as_float_;
  std::optional<int64_t> blank_;
  int64_t ignore_;
};

}  // namespace

Entry<Metric> sequence_accuracy() {
  return {.help = "share of samples whose whole sequence is right, of outputs [1,length,classes]",
          .make = make_as<SequenceAccuracy, Metric>,
          .options = {truth_option(), blank_option(), {"ignore", -100, "a label that does not count"}},
          .aliases = {"exact_match"}};
}

}  // namespace quasar::eval::metrics
