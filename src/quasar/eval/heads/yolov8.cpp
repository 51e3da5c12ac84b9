// YOLOv8, v9 and v11: one output [1, 4 + classes, boxes], boxes in pixels and sigmoids of classes, joined in the last step; or
// raw, per scale [1, 4·16 + classes, height, width], joined of distributions and classes. Behind the classes, masks and key
// points may follow.
#include "quasar/eval/head_rows.hpp"

namespace quasar::eval::heads {
namespace {

constexpr int64_t usual_bins = 16;

// The fields that a structure of joined pieces has, or values that cannot be anything else. 0: neither; otherwise classes.
int64_t classes_of_v8(const HeadFacts& facts, const HeadOutput& output) {
  const auto runs = runs_of(facts.pieces(output, 1));
  const bool joined = runs.size() >= 2 && runs[0] == Run{Field::numbers, 4} && runs[1].field == Field::scores;
  const auto rows = rows_of(facts, output, 1);
  if (joined && rows.empty()) return runs[1].size;
  const int64_t classes = joined ? runs[1].size : output.shape[1] - 4;
  if (classes < 1 || rows.empty()) return 0;
  const bool scores = are_shares(reached(rows, 4, static_cast<size_t>(classes)));
  const auto sizes = reached(rows, 2, 2);
  const bool pixels = sizes.low >= 0 && sizes.high > 2 && !are_corners(rows);
  return scores && pixels ? classes : 0;
}

std::optional<Claim> decoded_v8(const HeadFacts& facts) {
  const HeadOutput& output = facts.outputs().front();
  const Shape& shape = output.shape;
  if (shape.size() != 3 || shape[0] != 1 || shape[1] < 5 || (shape[2] >= 0 && shape[2] <= shape[1])) return std::nullopt;
  if (!fits_grids(facts, shape[2])) return std::nullopt;
  const int64_t classes = classes_of_v8(facts, output);
  if (classes < 1) return std::nullopt;
  const int64_t more = shape[1] - 4 - classes;
  const std::string rest = more > 0 ? "; " + std::to_string(more) + " more fields are passed over" : "";
  Claim claim = detector("yolov8", {&output},
                         "output " + in_words(output) + ": 4 numbers of a box and " + std::to_string(classes) +
                             " scores, a box for each cell of the usual grids" + rest);
  if (more > 0) claim.head.decoder = {{"name", "yolov8"}, {"classes", classes}};
  return claim;
}

std::optional<Claim> raw_v8(const HeadFacts& facts) {
  std::vector<int64_t> cells;
  std::vector<const HeadOutput*> outputs;
  bool activated = true;
  for (const auto& output : facts.outputs()) {
    if (output.shape.size() != 4 || output.shape[0] != 1 || output.shape[1] != facts.outputs().front().shape[1])
      return std::nullopt;
    const auto pieces = facts.pieces(output, 1);
    if (pieces.size() != 2 || pieces[0].size != 4 * usual_bins || pieces[0].is_score()) return std::nullopt;
    activated = activated && pieces[1].is_score();
    cells.push_back(output.shape[2] < 0 || output.shape[3] < 0 ? -1 : output.shape[2] * output.shape[3]);
    outputs.push_back(&output);
  }
  if (!fits_strides(facts, cells)) return std::nullopt;
  Claim claim =
      detector("yolov8", outputs,
               "outputs like " + in_words(*outputs.front()) + ", one per scale: 4·16 values of distances, then class scores");
  if (activated) claim.head.decoder = {{"name", "yolov8"}, {"activated", true}};
  return claim;
}

std::optional<Claim> claim_of_yolov8(const HeadFacts& facts) {
  if (!facts.picture() || facts.outputs().empty()) return std::nullopt;
  if (facts.outputs().size() > 1) {
    if (auto raw = raw_v8(facts)) return raw;
  }
  return decoded_v8(facts);
}

}  // namespace

Entry<HeadKind> yolov8() {
  return kind_of("YOLOv8, v9 and v11: [1,4+classes,boxes] in pixels, or raw outputs of distributions and classes",
                 claim_of_yolov8);
}

}  // namespace quasar::eval::heads
