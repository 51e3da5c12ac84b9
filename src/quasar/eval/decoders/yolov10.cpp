// YOLOv10 (Wang et al. 2024) and others that are trained to need no suppression: one output [1, rows, 6] of left, top, right and
// bottom in pixels, score and class.
#include <cmath>

#include "quasar/eval/boxes.hpp"

namespace quasar::eval::decoders {
namespace {

class YoloV10 : public Decoder {
 public:
  explicit YoloV10(const Options& options)
      : selection_{options.real("score_threshold"), 1, static_cast<size_t>(options.integer("most"))} {}

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    const Shape shape = layout.outputs.empty() ? Shape() : layout.outputs[0];
    if (shape.size() != 3 || shape[0] != 1 || shape[2] != 6)
      refuse_shapes("yolov10", "a first output [1,rows,6] of corners, score and class", layout);
    std::vector<Detection> found;
    for (size_t i = 0; i < static_cast<size_t>(shape[1]); ++i) {
      const float* at = values.data() + 6 * i;
      if (at[4] >= selection_.score_threshold) found.push_back({at[0], at[1], at[2], at[3], at[4], std::lround(at[5])});
    }
    return selected(std::move(found), selection_);
  }

 private:
  Selection selection_;
};

}  // namespace

Entry<Decoder> yolov10() {
  return {.help = "YOLOv10: a first output [1,rows,6] of corners in pixels, score and class; no suppression",
          .make = make_as<YoloV10, Decoder>,
          .options = {{"score_threshold", 0.05, "detections below it are dropped", 0, 1},
                      {"most", 100, "detections per sample at most", 1}}};
}

}  // namespace quasar::eval::decoders
