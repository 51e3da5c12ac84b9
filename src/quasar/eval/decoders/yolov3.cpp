// YOLOv3 (Redmon and Farhadi 2018): one output per scale, [1, anchors·(5 + classes), height, width] or with the channels last. Of
// a cell at (column, row) and an anchor (a_w, a_h) in pixels, with stride = picture / cells:
//   x = (column + σ(t_x))·stride, y = (row + σ(t_y))·stride, w = a_w·exp(t_w), h = a_h·exp(t_h), score = σ(t_o)·max σ(t_c).
#include <algorithm>
#include <cmath>

#include "quasar/eval/boxes.hpp"

namespace quasar::eval::decoders {
namespace {

const Json darknet_anchors = {10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326};

class YoloV3 : public Decoder {
 public:
  explicit YoloV3(const Options& options) : selection_(selection_of(options)) {
    const Json& anchors = options.json("anchors");
    const auto is_side = [](const Json& one) { return one.is_number() && one > 0; };
    if (!anchors.is_array() || anchors.empty() || anchors.size() % 2 != 0 || !std::ranges::all_of(anchors, is_side))
      throw Error("decoder yolov3: option 'anchors' is " + anchors.dump() +
                  ", but must be a list w, h, w, h … of positive numbers");
    anchors_ = anchors.get<std::vector<double>>();
  }

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    const size_t scales = layout.outputs.size(), anchors = anchors_.size() / 2;
    if (scales == 0 || anchors % scales != 0) refuse(layout);
    std::vector<size_t> fine_first(scales);
    for (size_t i = 0; i < scales; ++i) fine_first[i] = i;
    std::ranges::stable_sort(fine_first, std::ranges::greater(), [&](size_t i) { return count_of(layout.outputs[i]); });
    std::vector<Detection> found;
    for (size_t place = 0; place < scales; ++place) {
      const size_t output = fine_first[place], each = anchors / scales;
      decode_scale(values_of(values, layout, output), output, {&anchors_[2 * place * each], 2 * each}, layout, found);
    }
    return selected(std::move(found), selection_);
  }

 private:
  [[noreturn]] static void refuse(const Layout& layout) {
    refuse_shapes("yolov3", "per scale an output [1,anchors*(5+classes),height,width] or with the channels last", layout);
  }

  void decode_scale(std::span<const float> values, size_t output, std::span<const double> anchors, const Layout& layout,
                    std::vector<Detection>& found) const {
    const Shape& shape = layout.outputs[output];
    const auto each = static_cast<int64_t>(anchors.size() / 2);
    if (shape.size() != 4 || shape[0] != 1) refuse(layout);
    // The grid is square when the picture is; the axis of channels is the one that differs from the picture's proportion.
    const auto [high, wide] = picture_size(layout);
    const auto is_grid = [&, high = high, wide = wide](int64_t rows, int64_t columns) {
      return static_cast<double>(rows) * wide == static_cast<double>(columns) * high;
    };
    const bool last = !is_grid(shape[2], shape[3]) && is_grid(shape[1], shape[2]);
    const int64_t channels = last ? shape[3] : shape[1];
    if (channels % each != 0 || channels / each < 6) refuse(layout);
    const auto rows = static_cast<size_t>(last ? shape[1] : shape[2]), columns = static_cast<size_t>(last ? shape[2] : shape[3]);
    const auto step = last ? size_t{1} : rows * columns, fields = static_cast<size_t>(channels / each);
    for (size_t cell = 0; cell < rows * columns; ++cell) {
      for (size_t a = 0; a < anchors.size() / 2; ++a) {
        const float* at = values.data() + (last ? cell * static_cast<size_t>(channels) + a * fields : a * fields * step + cell);
        const auto [label, logit] = best_class(at + 5 * step, fields - 5, step);
        const double score = sigmoid(at[4 * step]) * sigmoid(logit);
        if (score < selection_.score_threshold) continue;
        const double x = (static_cast<double>(cell % columns) + sigmoid(at[0])) / static_cast<double>(columns) * wide;
        const double y = (static_cast<double>(cell / columns) + sigmoid(at[step])) / static_cast<double>(rows) * high;
        found.push_back(centred(x, y, anchors[2 * a] * std::exp(static_cast<double>(at[2 * step])),
                                anchors[2 * a + 1] * std::exp(static_cast<double>(at[3 * step])), score, label));
      }
    }
  }

  Selection selection_;
  std::vector<double> anchors_;
};

}  // namespace

Entry<Decoder> yolov3() {
  return {.help = "YOLOv3: one raw output per scale, [1,anchors*(5+classes),height,width] or with the channels last",
          .make = make_as<YoloV3, Decoder>,
          .options = with_selection(
              {{"anchors", darknet_anchors, "widths and heights in pixels, w, h, w, h ..., the finest scale's first"}}),
          .aliases = {"yolov4"}};
}

}  // namespace quasar::eval::decoders
