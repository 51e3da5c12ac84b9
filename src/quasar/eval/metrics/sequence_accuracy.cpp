// Share of samples whose whole sequence is right: words, plates, transcripts. With `blank` the output is one of connectionist
// temporal classification (Graves et al. 2006): repeated classes are merged, then blanks dropped, and labels are compared without
// `ignore`.
#include <algorithm>

#include "quasar/eval/answers.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/eval/share.hpp"

namespace quasar::eval::metrics {
namespace {

class SequenceAccuracy : public Metric, public Share {
 public:
  explicit SequenceAccuracy(const Options& options)
      : as_float_(options.text("truth") == "float"), ctc_(options.has("blank")), ignore_(options.integer("ignore")) {
    if (!ctc_) return;
    if (!options.json("blank").is_number_integer())
      throw Error("metric sequence_accuracy: option 'blank' is " + options.json("blank").dump() + ", but must be a class");
    blank_ = options.integer("blank");
  }
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 1; }
  Truth needs() const override { return as_float_ ? Truth::none : Truth::target; }
  bool is_proportion() const override { return true; }

  double of(const Pair& x, const Context&) const override {
    auto answers = answers_of(x.candidate, x.layout, ClassAxis::last, "metric sequence_accuracy");
    if (ctc_) return merged(answers) == (as_float_ ? merged(reference(x)) : without_ignored(*x.target)) ? 1 : 0;
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

  std::vector<int64_t> merged(std::vector<int64_t> classes) const {
    const auto repeats = std::ranges::unique(classes);
    classes.erase(repeats.begin(), repeats.end());
    std::erase(classes, blank_);
    return classes;
  }

  std::vector<int64_t> without_ignored(const Tensor& target) const {
    const auto labels = target.as<int64_t>();
    std::vector<int64_t> out(labels.begin(), labels.end());
    std::erase(out, ignore_);
    return out;
  }

  bool as_float_, ctc_;
  int64_t blank_ = 0, ignore_;
};

}  // namespace

Entry<Metric> sequence_accuracy() {
  return {.help = "share of samples whose whole sequence is right, of outputs [1,length,classes]",
          .make = make_as<SequenceAccuracy, Metric>,
          .options = {truth_option(),
                      {"blank", nullptr, "CTC's blank class: repeats are merged and blanks dropped; left out: no CTC"},
                      {"ignore", -100, "a label that does not count"}}};
}

}  // namespace quasar::eval::metrics
