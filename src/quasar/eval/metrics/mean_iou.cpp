// Mean intersection over union of segmentation: of a class, the pixels that truth and answer both give it, over those that at
// least one does, summed over all samples; the mean over the classes that occur. Pixels with the label `ignore` do not count.
// Outputs that are no scores of classes are class numbers, or numbers to be compared with a threshold: class 1 above it, else 0.
#include <cmath>
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
        classes_(options.text("classes")),
        axis_(classes_ == "last" ? ClassAxis::last : ClassAxis::channels),
        threshold_(options.real("threshold")),
        ignore_(options.integer("ignore")) {}
  Direction direction() const override { return Direction::maximize; }
  Truth needs() const override { return as_float_ ? Truth::none : Truth::target; }

  Part part(const Pair& x, const Context&) const override {
    const auto answers = classes_in(x.candidate, x.layout);
    const auto truth =
        as_float_ ? classes_in(x.reference, x.layout) : truth_of(x, false, axis_, answers.size(), "metric mean_iou");
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
  // Of every pixel of the first output.
  std::vector<int64_t> classes_in(std::span<const float> values, const Layout* layout) const {
    if (classes_ == "channels" || classes_ == "last") return answers_of(values, layout, axis_, "metric mean_iou");
    const bool several = layout != nullptr && !layout->outputs.empty();
    std::vector<int64_t> out;
    for (const float value : values.first(several ? count_of(layout->outputs.front()) : values.size()))
      out.push_back(classes_ == "threshold" ? (value > threshold_ ? 1 : 0) : std::lround(value));
    return out;
  }

  bool as_float_;
  std::string classes_;
  ClassAxis axis_;
  double threshold_;
  int64_t ignore_;
};

}  // namespace

Entry<Metric> mean_iou() {
  return {.help = "mean intersection over union of classes per pixel (segmentation)",
          .make = make_as<MeanIou, Metric>,
          .options = {truth_option(),
                      {.name = "classes",
                       .fallback = "channels",
                       .help = "axis of the classes: channels ([1,classes,h,w]) or last ([1,h,w,classes]); none: outputs are "
                               "class numbers; threshold: class 1 where an output is above `threshold`",
                       .choices = {"channels", "last", "none", "threshold"}},
                      {"threshold", 0.5, "of classes: threshold"},
                      {"ignore", 255, "a label that does not count"}},
          .aliases = {"miou"}};
}

}  // namespace quasar::eval::metrics
