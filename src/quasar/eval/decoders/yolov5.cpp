// YOLOv5, v6 and v7. As they are exported, the first output [1, boxes, 5 + classes] holds centre, width and height in pixels,
// objectness and class probabilities; further outputs (raw heads) are passed over. Cut before that, there is one raw output per
// scale: of a cell at (column, row) and an anchor (a_w, a_h) in pixels, with stride = picture / cells,
//   x = (column + 2·σ(t_x) − ½)·stride, y = (row + 2·σ(t_y) − ½)·stride, w = a_w·(2·σ(t_w))², h = a_h·(2·σ(t_h))².
// score = objectness · greatest class probability, raw σ(t_o)·max σ(t_c).
#include "quasar/eval/boxes.hpp"
#include "quasar/eval/grid_heads.hpp"

namespace quasar::eval::decoders {
namespace {

class YoloV5 : public Decoder {
 public:
  explicit YoloV5(const Options& options)
      : selection_(selection_of(options)),
        anchors_(anchors_of(options, "yolov5")),
        activated_(options.flag("activated")),
        classes_(static_cast<size_t>(options.integer("classes"))) {}

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    const Shape first = layout.outputs.empty() ? Shape() : layout.outputs[0];
    if (first.size() == 4 || first.size() == 5) return selected(raw(values, layout), selection_);
    if (first.size() != 3 || first[0] != 1 || first[2] < 6)
      refuse_shapes("yolov5", "a first output [1,boxes,5+classes], or raw heads [1,anchors*(5+classes),height,width]", layout);
    const auto boxes = static_cast<size_t>(first[1]), fields = static_cast<size_t>(first[2]);
    const size_t used = fields_of(fields, 5, classes_, "yolov5");
    std::vector<Detection> found;
    for (size_t i = 0; i < boxes; ++i) {
      const float* at = values.data() + i * fields;
      const auto [label, probability] = best_class(at + 5, used - 5, 1);
      const double score = static_cast<double>(at[4]) * probability;
      if (score >= selection_.score_threshold) found.push_back(centred(at[0], at[1], at[2], at[3], score, label));
    }
    return selected(std::move(found), selection_);
  }

 private:
  double share(double value) const { return activated_ ? value : sigmoid(value); }

  std::vector<Detection> raw(std::span<const float> values, const Layout& layout) const {
    const auto [high, wide] = picture_size(layout);
    std::vector<Detection> found;
    for (const GridHead& head : grid_heads(values, layout, anchors_, "yolov5")) {
      const size_t step = head.field_step;
      const double by_x = wide / static_cast<double>(head.columns), by_y = high / static_cast<double>(head.rows);
      for (size_t cell = 0; cell < head.rows * head.columns; ++cell) {
        for (size_t a = 0; a < head.anchor_count(); ++a) {
          const float* at = head.at(cell, a);
          const auto [label, value] = best_class(at + 5 * step, head.fields - 5, step);
          const double score = share(at[4 * step]) * share(value);
          if (score < selection_.score_threshold) continue;
          const double x = (static_cast<double>(cell % head.columns) + 2 * share(at[0]) - 0.5) * by_x;
          const double y = (static_cast<double>(cell / head.columns) + 2 * share(at[step]) - 0.5) * by_y;
          const double w = 2 * share(at[2 * step]), h = 2 * share(at[3 * step]);
          found.push_back(centred(x, y, head.anchors[2 * a] * w * w, head.anchors[2 * a + 1] * h * h, score, label));
        }
      }
    }
    return found;
  }

  Selection selection_;
  std::vector<double> anchors_;
  bool activated_;
  size_t classes_;
};

}  // namespace

Entry<Decoder> yolov5() {
  return {
      .help = "YOLOv5, v6 and v7: a first output [1,boxes,5+classes] in pixels, or raw heads, one per scale",
      .make = make_as<YoloV5, Decoder>,
      .options = with_selection({anchors_option(), {"activated", false, "raw heads hold sigmoids already"}, classes_option()}),
      .aliases = {"yolov6", "yolov7"}};
}

}  // namespace quasar::eval::decoders
