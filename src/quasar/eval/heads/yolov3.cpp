// Raw heads with anchors, one output per scale: YOLOv3 and v4, whose networks run LeakyRelu or Mish, and YOLOv5 and v7, which run
// SiLU. Their shapes are alike, and what a width means is not.
#include <algorithm>

#include "quasar/eval/head_rows.hpp"

namespace quasar::eval::heads {
namespace {

constexpr int64_t anchors_of_scale = 3;

// x·σ(x)
bool has_silu(const HeadFacts& facts) {
  return std::ranges::any_of(facts.model().nodes, [&](const graph::Node& node) {
    if (!node.is("Mul") || node.inputs.size() != 2) return false;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const graph::Node* gate = facts.index().producer(node.inputs[side]);
      if (gate != nullptr && gate->is("Sigmoid") && gate->inputs.front() == node.inputs[1 - side]) return true;
    }
    return false;
  });
}

struct AnchorGrid {
  int64_t fields = 0, cells = -1;
};

// [1,a·fields,h,w], [1,h,w,a·fields], [1,a,h,w,fields] or [1,h,w,a,fields]; fields 0: none of them.
AnchorGrid anchor_grid(const HeadFacts& facts, const Shape& shape) {
  const auto cells = [](int64_t rows, int64_t columns) { return rows < 0 || columns < 0 ? -1 : rows * columns; };
  if (shape.empty() || shape[0] != 1) return {};
  if (shape.size() == 5) {
    if (shape[1] == anchors_of_scale) return {shape[4], cells(shape[2], shape[3])};
    return shape[3] == anchors_of_scale ? AnchorGrid{shape[4], cells(shape[1], shape[2])} : AnchorGrid{};
  }
  if (shape.size() != 4) return {};
  const auto& picture = *facts.picture();
  const bool first = shape[2] * picture.width == shape[3] * picture.height;
  const int64_t channels = first ? shape[1] : shape[3];
  if (channels % anchors_of_scale != 0) return {};
  return {channels / anchors_of_scale, first ? cells(shape[2], shape[3]) : cells(shape[1], shape[2])};
}

size_t channel_axis(const HeadFacts& facts, const Shape& shape) {
  if (shape.size() == 5) return 4;
  return shape[2] * facts.picture()->width == shape[3] * facts.picture()->height ? 1 : 3;
}

// The last layer of a detector is a convolution of single pixels with a bias; outputs of a backbone are no such.
bool ends_in_small_conv(const HeadFacts& facts, const HeadOutput& output) {
  std::string value = output.name;
  for (int step = 0; step < 6; ++step) {
    const graph::Node* node = facts.index().producer(value);
    if (node == nullptr) return false;
    if (node->is("Conv")) {
      const Shape* weight = facts.shape_of(node->inputs[1]);
      return node->inputs.size() == 3 && weight != nullptr && weight->size() == 4 && (*weight)[2] == 1 && (*weight)[3] == 1;
    }
    if (!node->is("Reshape") && !node->is("Transpose") && !node->is("Identity")) return false;
    value = node->inputs.front();
  }
  return false;
}

std::optional<Claim> claim_of_yolov3(const HeadFacts& facts) {
  const size_t scales = facts.outputs().size();
  if (!facts.picture() || scales < 2 || scales > 3) return std::nullopt;
  std::vector<int64_t> cells;
  std::vector<const HeadOutput*> outputs;
  int64_t fields = 0;
  for (const auto& output : facts.outputs()) {
    const AnchorGrid grid = anchor_grid(facts, output.shape);
    if (grid.fields < 6 || (fields != 0 && grid.fields != fields) || !ends_in_small_conv(facts, output)) return std::nullopt;
    const auto pieces = facts.pieces(output, channel_axis(facts, output.shape));
    if (output.shape.size() == 4 && pieces.size() != 1) return std::nullopt;
    fields = grid.fields;
    cells.push_back(grid.cells);
    outputs.push_back(&output);
  }
  std::ranges::sort(cells, std::ranges::greater());
  const bool tiny = scales == 2 && !cells.empty();
  if (!fits_strides(facts, cells)) return std::nullopt;
  const bool silu = has_silu(facts), leaky = facts.has("LeakyRelu") || facts.has("Softplus") || facts.has("Mish");
  const std::string name = silu ? "yolov5" : "yolov3";
  Claim claim =
      detector(name, outputs,
               "outputs like " + in_words(*outputs.front()) + ", one per scale: 3 anchors of " + std::to_string(fields) +
                   " numbers in each cell, as they leave the last layer; anchors are COCO's unless `decoder` says others");
  if (tiny) claim.head.decoder = {{"name", name}, {"anchors", {10, 14, 23, 27, 37, 58, 81, 82, 135, 169, 344, 319}}};
  claim.sure = silu != leaky;
  return claim;
}

}  // namespace

Entry<HeadKind> yolov3() {
  return kind_of("YOLOv3, v4 (LeakyRelu, Mish) and v5, v7 (SiLU) cut before their boxes: raw outputs with anchors, one per scale",
                 claim_of_yolov3);
}

}  // namespace quasar::eval::heads
