// PicoDet and NanoDet: of a cell at (column, row) of a grid of stride s, class scores after the sigmoid and four distributions
// over 0 … bins − 1 (softmax), whose means are the distances of the cell's point ((column + c)·s, (row + c)·s), c `centre`, from
// the box's left, top, right and bottom side in strides (Li et al. 2020). Per scale two outputs [1, cells, classes] and [1,
// cells, 4·bins], or one for all scales, [1, cells, classes + 4·bins]. Decoded in the model: boxes [1, boxes, 4] in pixels and
// scores [1, classes, boxes].
#include <algorithm>
#include <optional>

#include "quasar/eval/boxes.hpp"

namespace quasar::eval::decoders {
namespace {

// A scale's cells: where scores and distributions of the first one are, and how far the next one is.
struct CellGrid {
  const float *scores, *distances;
  size_t score_step, distance_step, classes, rows, columns;
};

class PicoDet : public Decoder {
 public:
  explicit PicoDet(const Options& options)
      : selection_(selection_of(options)), bins_(options.integer("bins")), centre_(options.real("centre")) {}

  std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const override {
    for (const Shape& shape : layout.outputs) {
      if (shape.size() != 3 || shape[0] != 1) refuse(layout);
    }
    if (layout.outputs.size() == 2) {
      const Shape &boxes = layout.outputs[0], &scores = layout.outputs[1];
      if (boxes[2] == 4 && scores[2] == boxes[1] && scores[1] != boxes[1])
        return selected(decoded(values, layout, 0), selection_);
      if (scores[2] == 4 && boxes[2] == scores[1] && scores[1] != boxes[1])
        return selected(decoded(values, layout, 1), selection_);
    }
    std::vector<Detection> found;
    const auto picture = picture_size(layout);
    for (const CellGrid& grid : grids_of(values, layout, picture)) add(found, grid, picture);
    return selected(std::move(found), selection_);
  }

 private:
  [[noreturn]] void refuse(const Layout& layout) const {
    const std::string four = std::to_string(4 * bins_);
    refuse_shapes("picodet",
                  "per scale scores [1,cells,classes] and distributions [1,cells," + four + "], or [1,cells,classes+" + four +
                      "] for all of them, or boxes [1,boxes,4] and scores [1,classes,boxes]",
                  layout);
  }

  // The grid of so many cells that a stride of 4, 8, … 128 makes of the picture.
  static std::optional<std::array<size_t, 2>> grid_of(int64_t cells, const std::array<double, 2>& picture) {
    for (int64_t stride = 4; stride <= 128; stride *= 2) {
      const auto grid = grid_by(stride, picture);
      if (static_cast<int64_t>(grid[0] * grid[1]) == cells) return grid;
    }
    return std::nullopt;
  }

  static std::array<size_t, 2> grid_by(int64_t stride, const std::array<double, 2>& picture) {
    const auto cut = [&](double side) { return static_cast<size_t>((static_cast<int64_t>(side) + stride - 1) / stride); };
    return {cut(picture[0]), cut(picture[1])};
  }

  std::vector<CellGrid> grids_of(std::span<const float> values, const Layout& layout,
                                 const std::array<double, 2>& picture) const {
    return layout.outputs.size() == 1 ? in_one(values, layout, picture) : per_scale(values, layout, picture);
  }

  std::vector<CellGrid> in_one(std::span<const float> values, const Layout& layout, const std::array<double, 2>& picture) const {
    const int64_t cells = layout.outputs[0][1], fields = layout.outputs[0][2];
    if (fields <= 4 * bins_) refuse(layout);
    const auto step = static_cast<size_t>(fields), classes = static_cast<size_t>(fields - 4 * bins_);
    for (const int64_t last : {64, 32, 16}) {
      std::vector<CellGrid> grids;
      size_t start = 0;
      for (int64_t stride = 8; stride <= last; stride *= 2) {
        const auto [rows, columns] = grid_by(stride, picture);
        const float* at = values.data() + start * step;
        grids.push_back({at, at + classes, step, step, classes, rows, columns});
        start += rows * columns;
      }
      if (static_cast<int64_t>(start) == cells) return grids;
    }
    refuse(layout);
  }

  // Of two outputs with the same cells, the distributions have 4·bins values; if both have, scores are those between 0 and 1.
  std::vector<CellGrid> per_scale(std::span<const float> values, const Layout& layout,
                                  const std::array<double, 2>& picture) const {
    std::vector<CellGrid> grids;
    for (size_t a = 0; a < layout.outputs.size(); ++a) {
      for (size_t b = 0; b < layout.outputs.size(); ++b) {
        const Shape &score = layout.outputs[a], &distance = layout.outputs[b];
        if (a == b || score[1] != distance[1] || distance[2] != 4 * bins_) continue;
        const auto scores = values_of(values, layout, a);
        if (score[2] == 4 * bins_ && !std::ranges::all_of(scores, [](float value) { return value >= 0 && value <= 1; })) continue;
        const auto grid = grid_of(score[1], picture);
        if (!grid) refuse(layout);
        const auto classes = static_cast<size_t>(score[2]);
        grids.push_back({scores.data(), values_of(values, layout, b).data(), classes, static_cast<size_t>(distance[2]), classes,
                         (*grid)[0], (*grid)[1]});
      }
    }
    if (grids.empty() || 2 * grids.size() != layout.outputs.size()) refuse(layout);
    return grids;
  }

  void add(std::vector<Detection>& found, const CellGrid& grid, const std::array<double, 2>& picture) const {
    const double by_y = picture[0] / static_cast<double>(grid.rows), by_x = picture[1] / static_cast<double>(grid.columns);
    for (size_t cell = 0; cell < grid.rows * grid.columns; ++cell) {
      const auto [label, score] = best_class(grid.scores + cell * grid.score_step, grid.classes, 1);
      if (score < selection_.score_threshold) continue;
      const double x = static_cast<double>(cell % grid.columns) + centre_, y = static_cast<double>(cell / grid.columns) + centre_;
      const auto bins = static_cast<size_t>(bins_);
      const auto side = [&](size_t k) { return mean_bin(grid.distances + cell * grid.distance_step + k * bins, bins, 1); };
      found.push_back({(x - side(0)) * by_x, (y - side(1)) * by_y, (x + side(2)) * by_x, (y + side(3)) * by_y, score, label});
    }
  }

  std::vector<Detection> decoded(std::span<const float> values, const Layout& layout, size_t place) const {
    const auto boxes = values_of(values, layout, place), scores = values_of(values, layout, 1 - place);
    const auto count = static_cast<size_t>(layout.outputs[place][1]), classes = scores.size() / std::max<size_t>(count, 1);
    std::vector<Detection> found;
    for (size_t i = 0; i < count; ++i) {
      const auto [label, score] = best_class(scores.data() + i, classes, count);
      const float* box = boxes.data() + 4 * i;
      if (score >= selection_.score_threshold) found.push_back({box[0], box[1], box[2], box[3], score, label});
    }
    return found;
  }

  Selection selection_;
  int64_t bins_;
  double centre_;
};

}  // namespace

Entry<Decoder> picodet() {
  return {.help = "PicoDet and NanoDet: class scores and distributions of distances for each cell, or boxes and scores",
          .make = make_as<PicoDet, Decoder>,
          .options = with_selection({{"bins", 8, "values per distribution", 2},
                                     {"centre", 0.5, "of a cell, where distances begin, as a share of it (NanoDet: 0)", 0, 1}}),
          .aliases = {"nanodet"}};
}

}  // namespace quasar::eval::decoders
