// YOLOv8, v9 and v11. As they are exported, one output [1, 4 + classes, boxes] holds centre, width and height in pixels and class
// probabilities; what follows the option `classes` (masks, key points) is passed over. Cut before that, there is one raw output
// [1, 4·bins + classes, height, width] per scale: for a cell at (column, row), four distributions over 0 … bins − 1 (softmax),
// whose means are the distances of the cell's centre from the box's left, top, right and bottom side in cells (Li et al. 2020),
// and class scores before the sigmoid. score = the greatest class probability.
#include "quasar/eval/boxes.hpp"

namespace quasar::eval::decoders {
namespace {

class YoloV8 : public Decoder {
 public:
  explicit YoloV8(const Options& options)
      : selection_(selection_of(options)),
        bins_(static_cast<size_t>(options.integer("bins"))),
        classes_(static_cast<size_t>(options.integer("classes"))),
        activated_(options.flag("activated")) {}

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    const Shape first = layout.outputs.empty() ? Shape() : layout.outputs[0];
    if (first.size() == 4) return selected(raw(values, layout), selection_);
    if (first.size() != 3 || first[0] != 1 || first[1] < 5) refuse(layout);
    const auto fields = fields_of(static_cast<size_t>(first[1]), 4, classes_, "yolov8"), boxes = static_cast<size_t>(first[2]);
    std::vector<Detection> found;
    for (size_t i = 0; i < boxes; ++i) {
      const float* at = values.data() + i;
      const auto [label, score] = best_class(at + 4 * boxes, fields - 4, boxes);
      if (score >= selection_.score_threshold)
        found.push_back(centred(at[0], at[boxes], at[2 * boxes], at[3 * boxes], score, label));
    }
    return selected(std::move(found), selection_);
  }

 private:
  [[noreturn]] void refuse(const Layout& layout) const {
    refuse_shapes(
        "yolov8",
        "a first output [1,4+classes,boxes], or per scale a raw one [1," + std::to_string(4 * bins_) + "+classes,height,width]",
        layout);
  }

  std::vector<Detection> raw(std::span<const float> values, const Layout& layout) const {
    const auto [high, wide] = picture_size(layout);
    std::vector<Detection> found;
    for (size_t output = 0; output < layout.outputs.size(); ++output) {
      const Shape& shape = layout.outputs[output];
      if (shape.size() != 4 || shape[0] != 1 || shape[1] <= static_cast<int64_t>(4 * bins_)) refuse(layout);
      const auto rows = static_cast<size_t>(shape[2]), columns = static_cast<size_t>(shape[3]), area = rows * columns;
      const double by_x = wide / static_cast<double>(columns), by_y = high / static_cast<double>(rows);
      const float* all = values_of(values, layout, output).data();
      for (size_t cell = 0; cell < area; ++cell) {
        const float* at = all + cell;
        const auto [label, value] = best_class(at + 4 * bins_ * area, static_cast<size_t>(shape[1]) - 4 * bins_, area);
        const double score = activated_ ? value : sigmoid(value);
        if (score < selection_.score_threshold) continue;
        const double x = static_cast<double>(cell % columns) + 0.5, y = static_cast<double>(cell / columns) + 0.5;
        const auto side = [&](size_t k) { return mean_bin(at + k * bins_ * area, bins_, area); };
        found.push_back({(x - side(0)) * by_x, (y - side(1)) * by_y, (x + side(2)) * by_x, (y + side(3)) * by_y, score, label});
      }
    }
    return found;
  }

  Selection selection_;
  size_t bins_, classes_;
  bool activated_;
};

}  // namespace

Entry<Decoder> yolov8() {
  return {.help = "YOLOv8, v9 and v11: a first output [1,4+classes,boxes] in pixels, or raw heads, one per scale",
          .make = make_as<YoloV8, Decoder>,
          .options = with_selection({{"bins", 16, "of raw heads: values per distance", 1},
                                     {"activated", false, "raw heads hold sigmoids of classes already"},
                                     classes_option()}),
          .aliases = {"yolov9", "yolov11"}};
}

}  // namespace quasar::eval::decoders
