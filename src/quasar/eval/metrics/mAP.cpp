// Mean average precision of detections: COCO's (IoU 0.5, 0.55 … 0.95, 101 recalls), PASCAL VOC's (IoU 0.5, area below the curve)
// or VOC 2007's (11 recalls). The model's outputs become boxes by the search's `decoder`; right are the labelled boxes, or with
// truth=float what the float model finds with at least truth_score: agreement of detections.
#include "quasar/eval/answers.hpp"
#include "quasar/eval/detection_match.hpp"
#include "quasar/eval/share.hpp"

namespace quasar::eval::metrics {
namespace {

Precision style_of(const Options& options) {
  const std::string style = options.text("style");
  return style == "coco" ? Precision::coco : style == "voc" ? Precision::voc : Precision::voc07;
}

// 0.5, 0.55 … 0.95 as numpy.linspace computes them.
std::vector<double> coco_thresholds() {
  std::vector<double> out;
  for (int k = 0; k < 9; ++k) out.push_back(0.5 + k * ((0.95 - 0.5) / 9));
  out.push_back(0.95);
  return out;
}

std::vector<double> thresholds_of(const Options& options) {
  if (!options.has("iou")) return options.text("style") == "coco" ? coco_thresholds() : std::vector<double>{0.5};
  const Json& iou = options.json("iou");
  std::vector<double> out;
  for (const Json& one : iou.is_array() ? iou : Json::array({iou})) {
    if (!one.is_number() || one <= 0 || one > 1) break;
    out.push_back(one.get<double>());
  }
  if (out.empty() || out.size() > 30 || (iou.is_array() && out.size() != iou.size()))
    throw Error("metric mAP: option 'iou' is " + iou.dump() +
                ", but must be a number above 0 and at most 1, or a list of up to 30");
  return out;
}

class MeanAveragePrecision : public PooledMetric, public Share {
 public:
  explicit MeanAveragePrecision(const Options& options)
      : as_float_(options.text("truth") == "float"),
        truth_score_(options.real("truth_score")),
        style_(style_of(options)),
        thresholds_(thresholds_of(options)) {}
  Direction direction() const override { return Direction::maximize; }
  Truth needs() const override { return as_float_ ? Truth::none : Truth::boxes; }
  bool needs_decoder() const override { return true; }

  Part part(const Pair& x, const Context& context) const override {
    const auto found = context.decoder->decode(x.candidate, x.own ? *x.own : *x.layout);
    return match(found, as_float_ ? found_by_float(x, context) : *x.boxes, thresholds_, style_);
  }
  std::unique_ptr<Pool> pool(std::span<const Part> parts) const override {
    return average_precision(parts, thresholds_.size(), style_);
  }

 private:
  data::Boxes found_by_float(const Pair& x, const Context& context) const {
    data::Boxes out;
    for (const auto& one : context.decoder->decode(x.reference, *x.layout)) {
      if (one.score >= truth_score_) out.push_back({one.left, one.top, one.right, one.bottom, one.label});
    }
    return out;
  }

  bool as_float_;
  double truth_score_;
  Precision style_;
  std::vector<double> thresholds_;
};

}  // namespace

Entry<Metric> mAP() {
  return {.help = "mean average precision of detections (needs a decoder)",
          .make = make_as<MeanAveragePrecision, Metric>,
          .options = {truth_option(),
                      {"truth_score", 0.3, "with truth=float: its detections of at least this score are right", 0, 1},
                      {"iou", nullptr, "threshold of overlap, or a list; left out: 0.5, 0.55 ... 0.95 (coco), 0.5 (voc, voc07)"},
                      {.name = "style",
                       .fallback = "coco",
                       .help = "coco: 101 recalls; voc: area below the curve; voc07: 11 recalls",
                       .choices = {"coco", "voc", "voc07"}}}};
}

}  // namespace quasar::eval::metrics
