// FastestDet (github.com/dog-qiuqiu/FastestDet): one output [1, 5 + classes, height, width]. Of a cell: objectness p, offsets of
// the centre tanh(x) and tanh(y) in cells, width and height as shares of the picture, sigmoid(w) and sigmoid(h), class scores c.
// score = p^0.6 · max(c)^0.4.
#include <cmath>

#include "quasar/eval/boxes.hpp"

namespace quasar::eval::decoders {
namespace {

class FastestDet : public Decoder {
 public:
  explicit FastestDet(const Options& options) : selection_(selection_of(options)) {}

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    const auto& shapes = layout.outputs;
    if (shapes.size() != 1 || shapes[0].size() != 4 || shapes[0][0] != 1 || shapes[0][1] < 6)
      refuse_shapes("fastestdet", "one output [1,5+classes,height,width]", layout);
    const auto [high, wide] = picture_size(layout);
    const auto classes = static_cast<size_t>(shapes[0][1] - 5), rows = static_cast<size_t>(shapes[0][2]),
               columns = static_cast<size_t>(shapes[0][3]), area = rows * columns;
    std::vector<Detection> found;
    for (size_t cell = 0; cell < area; ++cell) {
      const float* at = values.data() + cell;
      const auto [label, probability] = best_class(at + 5 * area, classes, area);
      const double score = std::pow(std::max(0.0F, at[0]), 0.6) * std::pow(std::max(0.0, probability), 0.4);
      if (score < selection_.score_threshold) continue;
      const double x = (static_cast<double>(cell % columns) + std::tanh(at[area])) / static_cast<double>(columns);
      const double y = (static_cast<double>(cell / columns) + std::tanh(at[2 * area])) / static_cast<double>(rows);
      found.push_back(centred(x * wide, y * high, sigmoid(at[3 * area]) * wide, sigmoid(at[4 * area]) * high, score, label));
    }
    return selected(std::move(found), selection_);
  }

 private:
  Selection selection_;
};

}  // namespace

Entry<Decoder> fastestdet() {
  return {.help = "FastestDet: one output [1,5+classes,height,width]",
          .make = make_as<FastestDet, Decoder>,
          .options = with_selection({})};
}

}  // namespace quasar::eval::decoders
