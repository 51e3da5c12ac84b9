#include "quasar/eval/grid_heads.hpp"

#include <algorithm>
#include <optional>

#include "quasar/base/error.hpp"
#include "quasar/eval/boxes.hpp"

namespace quasar::eval {
namespace {

// COCO's, of YOLOv3 (Redmon and Farhadi 2018) and of YOLOv5.
const Json usual_anchors = {10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326};

GridHead head_of(int64_t rows, int64_t columns, int64_t fields) {
  GridHead head;
  head.rows = static_cast<size_t>(rows);
  head.columns = static_cast<size_t>(columns);
  head.fields = static_cast<size_t>(fields);
  return head;
}

// How one output is a head. The grid is square when the picture is: the axes of cells are those in the picture's proportion.
std::optional<GridHead> head_of(const Shape& shape, int64_t anchors, const std::array<double, 2>& picture) {
  const auto is_grid = [&](int64_t rows, int64_t columns) {
    return static_cast<double>(rows) * picture[1] == static_cast<double>(columns) * picture[0];
  };
  if (shape.size() == 4 && shape[0] == 1) {
    const bool last = !is_grid(shape[2], shape[3]) && is_grid(shape[1], shape[2]);
    const int64_t channels = last ? shape[3] : shape[1];
    if (channels % anchors != 0 || channels / anchors < 6) return std::nullopt;
    GridHead head = last ? head_of(shape[1], shape[2], channels / anchors) : head_of(shape[2], shape[3], channels / anchors);
    const size_t area = head.rows * head.columns;
    head.cell_step = last ? static_cast<size_t>(channels) : 1;
    head.anchor_step = head.fields * (last ? 1 : area);
    head.field_step = last ? 1 : area;
    return head;
  }
  if (shape.size() != 5 || shape[0] != 1 || shape[4] < 6) return std::nullopt;
  const bool anchors_first = shape[1] == anchors && (is_grid(shape[2], shape[3]) || shape[3] != anchors);
  if (!anchors_first && shape[3] != anchors) return std::nullopt;
  GridHead head = anchors_first ? head_of(shape[2], shape[3], shape[4]) : head_of(shape[1], shape[2], shape[4]);
  head.field_step = 1;
  head.cell_step = head.fields * (anchors_first ? 1 : static_cast<size_t>(anchors));
  head.anchor_step = head.fields * (anchors_first ? head.rows * head.columns : 1);
  return head;
}

}  // namespace

std::vector<GridHead> grid_heads(std::span<const float> values, const Layout& layout, std::span<const double> anchors,
                                 const std::string& name) {
  const size_t scales = layout.outputs.size(), count = anchors.size() / 2;
  const auto refuse = [&] {
    refuse_shapes(name,
                  "per scale an output [1,anchors*(5+classes),height,width] or [1,anchors,height,width,5+classes], also with the "
                  "cells first, and " +
                      std::to_string(count) + " anchors in all",
                  layout);
  };
  if (scales == 0 || count % scales != 0) refuse();
  const auto picture = picture_size(layout);
  const size_t each = count / scales;
  std::vector<GridHead> heads;
  for (size_t output = 0; output < scales; ++output) {
    auto head = head_of(layout.outputs[output], static_cast<int64_t>(each), picture);
    if (!head) refuse();
    head->values = values_of(values, layout, output);
    heads.push_back(*head);
  }
  std::ranges::stable_sort(heads, std::ranges::greater(), [](const GridHead& head) { return head.rows * head.columns; });
  for (size_t i = 0; i < scales; ++i) heads[i].anchors = anchors.subspan(2 * i * each, 2 * each);
  return heads;
}

std::vector<double> anchors_of(const Options& options, const std::string& name) {
  const Json& anchors = options.json("anchors");
  const auto is_side = [](const Json& one) { return one.is_number() && one > 0; };
  if (anchors.is_array() && !anchors.empty() && anchors.size() % 2 == 0 && std::ranges::all_of(anchors, is_side))
    return anchors.get<std::vector<double>>();
  throw Error("decoder " + name + ": option 'anchors' is " + anchors.dump() +
              ", but must be a list w, h, w, h … of positive numbers");
}

OptionSpec anchors_option() {
  return {"anchors", usual_anchors, "widths and heights in pixels, w, h, w, h ..., the finest scale's first"};
}

}  // namespace quasar::eval
