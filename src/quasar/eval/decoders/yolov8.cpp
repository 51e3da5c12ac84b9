// YOLOv8, v9 and v11 as they are exported: one output [1, 4 + classes, boxes] with centre, width and height in pixels and class
// probabilities. score = the greatest of them.
#include "quasar/eval/boxes.hpp"

namespace quasar::eval::decoders {
namespace {

class YoloV8 : public Decoder {
 public:
  explicit YoloV8(const Options& options) : selection_(selection_of(options)) {}

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    if (layout.outputs.empty() || layout.outputs[0].size() != 3 || layout.outputs[0][0] != 1 || layout.outputs[0][1] < 5)
      refuse_shapes("yolov8", "a first output [1,4+classes,boxes]", layout);
    const auto fields = static_cast<size_t>(layout.outputs[0][1]), boxes = static_cast<size_t>(layout.outputs[0][2]);
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
  Selection selection_;
};

}  // namespace

Entry<Decoder> yolov8() {
  return {.help = "YOLOv8, v9 and v11: a first output [1,4+classes,boxes] in pixels",
          .make = make_as<YoloV8, Decoder>,
          .options = with_selection({}),
          .aliases = {"yolov9", "yolov11"}};
}

}  // namespace quasar::eval::decoders
