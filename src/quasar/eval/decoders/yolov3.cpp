// YOLOv3 (Redmon and Farhadi 2018): one raw output per scale. Of a cell at (column, row) and an anchor (a_w, a_h) in pixels, with
// stride = picture / cells:
//   x = (column + σ(t_x))·stride, y = (row + σ(t_y))·stride, w = a_w·exp(t_w), h = a_h·exp(t_h), score = σ(t_o)·max σ(t_c).
#include <cmath>

#include "quasar/eval/boxes.hpp"
#include "quasar/eval/grid_heads.hpp"

namespace quasar::eval::decoders {
namespace {

class YoloV3 : public Decoder {
 public:
  explicit YoloV3(const Options& options) : selection_(selection_of(options)), anchors_(anchors_of(options, "yolov3")) {}

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    const auto [high, wide] = picture_size(layout);
    std::vector<Detection> found;
    for (const GridHead& head : grid_heads(values, layout, anchors_, "yolov3")) {
      const size_t step = head.field_step;
      for (size_t cell = 0; cell < head.rows * head.columns; ++cell) {
        for (size_t a = 0; a < head.anchor_count(); ++a) {
          const float* at = head.at(cell, a);
          const auto [label, logit] = best_class(at + 5 * step, head.fields - 5, step);
          const double score = sigmoid(at[4 * step]) * sigmoid(logit);
          if (score < selection_.score_threshold) continue;
          const double x = (static_cast<double>(cell % head.columns) + sigmoid(at[0])) / static_cast<double>(head.columns);
          const double y = (static_cast<double>(cell / head.columns) + sigmoid(at[step])) / static_cast<double>(head.rows);
          found.push_back(centred(x * wide, y * high, head.anchors[2 * a] * std::exp(static_cast<double>(at[2 * step])),
                                  head.anchors[2 * a + 1] * std::exp(static_cast<double>(at[3 * step])), score, label));
        }
      }
    }
    return selected(std::move(found), selection_);
  }

 private:
  Selection selection_;
  std::vector<double> anchors_;
};

}  // namespace

Entry<Decoder> yolov3() {
  return {.help = "YOLOv3: one raw output per scale, [1,anchors*(5+classes),height,width] or with the channels last",
          .make = make_as<YoloV3, Decoder>,
          .options = with_selection({anchors_option()}),
          .aliases = {"yolov4"}};
}

}  // namespace quasar::eval::decoders
