// F1 of classes: of a class c, 2·TP / (2·TP + FP + FN), over all samples. macro: the mean over the classes that are a label or an
// answer of some sample; weighted: weighted by the number of samples with this label; micro: of the sums over classes (with one
// answer per sample, the share of right answers). As scikit-learn's f1_score.
#include <map>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/share.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

struct Counts {
  double right = 0, labels = 0, answers = 0;
  double f1() const { return labels + answers == 0 ? 0 : 2 * right / (labels + answers); }
};

class F1Pool : public Pool {
 public:
  F1Pool(std::span<const Part> parts, std::string average) : parts_(parts), average_(std::move(average)) {}

  double value(std::span<const uint32_t> counts) const override {
    std::map<double, Counts> classes;
    Counts all;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const double label = parts_[i][0], answer = parts_[i][1], count = counts[i];
      if (count == 0) continue;
      classes[label].labels += count;
      classes[answer].answers += count;
      if (label == answer) classes[label].right += count;
      all.labels += count;
      all.answers += count;
      all.right += label == answer ? count : 0;
    }
    if (average_ == "micro") return all.f1();
    double total = 0, weight = 0;
    for (const auto& [name, one] : classes) {
      const double share = average_ == "weighted" ? one.labels : 1;
      total += share * one.f1();
      weight += share;
    }
    return weight == 0 ? 0 : total / weight;
  }

 private:
  std::span<const Part> parts_;
  std::string average_;
};

class F1Score : public PooledMetric, public Share {
 public:
  explicit F1Score(const Options& options) : average_(options.text("average")) {}
  Direction direction() const override { return Direction::maximize; }
  bool ranks_classes() const override { return true; }
  Truth needs() const override { return Truth::label; }
  Part part(const Pair& x, const Context&) const override {
    return {static_cast<double>(x.label.value()), static_cast<double>(arg_max(x.candidate))};
  }
  std::unique_ptr<Pool> pool(std::span<const Part> parts) const override { return std::make_unique<F1Pool>(parts, average_); }

 private:
  std::string average_;
};

}  // namespace

Entry<Metric> F1() {
  return {.help = "F1 of classes over all samples",
          .make = make_as<F1Score, Metric>,
          .options = {{.name = "average",
                       .fallback = "macro",
                       .help = "macro: mean over classes; weighted: by their number of samples; micro: over all answers",
                       .choices = {"macro", "weighted", "micro"}}}};
}

}  // namespace quasar::eval::metrics
