// Mean intersection over union of segmentation: of a class, the pixels that truth and answer both give it, over those that at
// least one does, summed over all samples; the mean over the classes that occur. Pixels with the label `ignore` do not count.
#include <map>

#include "quasar/eval/answers.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/eval/share.hpp"

namespace quasar::eval::metrics {
namespace {

// Parts are triples: class, intersection, union.
class IouPool : public Pool {
 public:
  explicit IouPool(std::span<const Part> parts) : parts_(parts) {}

  double value(std::span<const uint32_t> counts) const override {
    std::map<double, std::pair<double, double>> classes;
    for (size_t i = 0; i < parts_.size(); ++i) {
      for (size_t k = 0; k + 2 < parts_[i].size() && counts[i] > 0; k += 3) {
        auto& [both, any] = classes[parts_[i][k]];
        both += counts[i] * parts_[i][k + 1];
        any += counts[i] * parts_[i][k + 2];
      }
    }
    double total = 0;
    for (const auto& [name, pixels] : classes) total += pixels.first / pixels.second;
    return classes.empty() ? 0 : total / static_cast<double>(classes.size());
  }

 private:
  std::span<const Part> parts_;
};

class MeanIou : public PooledMetric, public Share {
 public:
  explicit MeanIou(const Options& options)
      : as_float_(options.text("truth") == "float"),
        axis_(options.text("classes") == "last" ? ClassAxis::last : ClassAxis::channels),
        ignore_(options.integer("ignore")) {}
  Direction direction() const override { return Direction::maximize; }
  Truth needs() const override { return as_float_ ? Truth::none : Truth::target; }

  Part part(const Pair& x, const Context&) const override {
    const auto answers = answers_of(x.candidate, x.layout, axis_, "metric mean_iou");
    const auto truth = truth_of(x, as_float_, axis_, answers.size(), "metric mean_iou");
    struct Pixels {
      double both = 0, truth = 0, answer = 0;
    };
    std::map<int64_t, Pixels> classes;
    for (size_t i = 0; i < answers.size(); ++i) {
      if (truth[i] == ignore_) continue;
      classes[truth[i]].truth += 1;
      classes[answers[i]].answer += 1;
      if (truth[i] == answers[i]) classes[truth[i]].both += 1;
    }
    Part part;
    for (const auto& [name, pixels] : classes) {
      part.insert(part.end(), {static_cast<double>(name), pixels.both, pixels.truth + pixels.answer - pixels.both});
    }
    return part;
  }
  std::unique_ptr<Pool> pool(std::span<const Part> parts) const override { return std::make_unique<IouPool>(parts); }

 private:
  bool as_float_;
  ClassAxis axis_;
  int64_t ignore_;
};

}  // namespace

Entry<Metric> mean_iou() {
  return {.help = "mean intersection over union of classes per pixel (segmentation)",
          .make = make_as<MeanIou, Metric>,
          .options = {truth_option(),
                      {.name = "classes",
                       .fallback = "channels",
                       .help = "axis of the classes: channels ([1,classes,h,w]) or last ([1,h,w,classes])",
                       .choices = {"channels", "last"}},
                      {"ignore", 255, "a label that does not count"}},
          .aliases = {"miou"}};
}

}  // namespace quasar::eval::metrics
