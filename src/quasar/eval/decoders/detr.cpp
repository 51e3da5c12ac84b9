// DETR (Carion et al. 2020) and its kin: of every query class scores [1, queries, classes], and a box [1, queries, 4] of centre,
// width and height as shares of the picture. A set needs no suppression. score = the greatest probability of a class; with
// `background` the last class means nothing.
#include <algorithm>
#include <cmath>

#include "quasar/eval/boxes.hpp"

namespace quasar::eval::decoders {
namespace {

class Detr : public Decoder {
 public:
  explicit Detr(const Options& options)
      : selection_{options.real("score_threshold"), 1, static_cast<size_t>(options.integer("most"))},
        activation_(options.text("activation")),
        background_(options.flag("background")) {}

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    const auto [boxes, scores] = outputs_of(values, layout);
    const auto queries = static_cast<size_t>(layout.outputs[boxes][1]), classes = static_cast<size_t>(layout.outputs[scores][2]);
    const auto [high, wide] = picture_size(layout);
    const auto box_values = values_of(values, layout, boxes), score_values = values_of(values, layout, scores);
    std::vector<Detection> found;
    for (size_t i = 0; i < queries; ++i) {
      const float *box = box_values.data() + 4 * i, *row = score_values.data() + classes * i;
      const auto [label, raw] = best_class(row, classes - (background_ ? 1 : 0), 1);
      const double score = probability(row, classes, raw);
      if (score >= selection_.score_threshold)
        found.push_back(centred(box[0] * wide, box[1] * high, box[2] * wide, box[3] * high, score, label));
    }
    return selected(std::move(found), selection_);
  }

 private:
  // Places of boxes and scores; of two outputs [1, queries, 4] the boxes are between 0 and 1, and if both are, the last.
  std::pair<size_t, size_t> outputs_of(std::span<const float> values, const Layout& layout) const {
    const auto& shapes = layout.outputs;
    const auto is_rows = [](const Shape& shape) { return shape.size() == 3 && shape[0] == 1 && shape[2] >= 2; };
    if (shapes.size() != 2 || !is_rows(shapes[0]) || !is_rows(shapes[1]) || shapes[0][1] != shapes[1][1]) refuse(layout);
    const bool first = shapes[0][2] == 4, second = shapes[1][2] == 4;
    if (!first && !second) refuse(layout);
    if (first != second) return first ? std::pair<size_t, size_t>{0, 1} : std::pair<size_t, size_t>{1, 0};
    const auto share = [](float value) { return value >= 0 && value <= 1; };
    return std::ranges::all_of(values_of(values, layout, 1), share) ? std::pair<size_t, size_t>{1, 0}
                                                                    : std::pair<size_t, size_t>{0, 1};
  }

  [[noreturn]] static void refuse(const Layout& layout) {
    refuse_shapes("detr", "class scores [1,queries,classes] and boxes [1,queries,4]", layout);
  }

  double probability(const float* row, size_t classes, double raw) const {
    if (activation_ == "none") return raw;
    if (activation_ == "sigmoid") return sigmoid(raw);
    const double most = *std::max_element(row, row + classes);
    double total = 0;
    for (size_t c = 0; c < classes; ++c) total += std::exp(row[c] - most);
    return std::exp(raw - most) / total;
  }

  Selection selection_;
  std::string activation_;
  bool background_;
};

}  // namespace

Entry<Decoder> detr() {
  return {.help = "DETR: class scores [1,queries,classes] and boxes [1,queries,4] of centre and size as shares; no suppression",
          .make = make_as<Detr, Decoder>,
          .options = {{.name = "activation",
                       .fallback = "softmax",
                       .help = "what makes probabilities of class scores: softmax, sigmoid or none",
                       .choices = {"softmax", "sigmoid", "none"}},
                      {"background", true, "the last class means nothing"},
                      {"score_threshold", 0.05, "detections below it are dropped", 0, 1},
                      {"most", 100, "detections per sample at most", 1}}};
}

}  // namespace quasar::eval::decoders
