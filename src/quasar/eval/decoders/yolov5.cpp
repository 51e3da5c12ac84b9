// YOLOv5, v6 and v7 as they are exported: the first output [1, boxes, 5 + classes] holds centre, width and height in pixels,
// objectness and class probabilities. score = objectness · greatest class probability. Further outputs (raw heads) are passed
// over.
#include "quasar/eval/boxes.hpp"

namespace quasar::eval::decoders {
namespace {

class YoloV5 : public Decoder {
 public:
  explicit YoloV5(const Options& options) : selection_(selection_of(options)) {}

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    if (layout.outputs.empty() || layout.outputs[0].size() != 3 || layout.outputs[0][0] != 1 || layout.outputs[0][2] < 6)
      refuse_shapes("yolov5", "a first output [1,boxes,5+classes]", layout);
    const auto boxes = static_cast<size_t>(layout.outputs[0][1]), fields = static_cast<size_t>(layout.outputs[0][2]);
    std::vector<Detection> found;
    for (size_t i = 0; i < boxes; ++i) {
      const float* at = values.data() + i * fields;
      const auto [label, probability] = best_class(at + 5, fields - 5, 1);
      const double score = static_cast<double>(at[4]) * probability;
      if (score >= selection_.score_threshold) found.push_back(centred(at[0], at[1], at[2], at[3], score, label));
    }
    return selected(std::move(found), selection_);
  }

 private:
  Selection selection_;
};

}  // namespace

Entry<Decoder> yolov5() {
  return {.help = "YOLOv5, v6 and v7: a first output [1,boxes,5+classes] in pixels",
          .make = make_as<YoloV5, Decoder>,
          .options = with_selection({}),
          .aliases = {"yolov6", "yolov7"}};
}

}  // namespace quasar::eval::decoders
