// YOLOv5, v6 and v7 as they are exported: a first output [1, boxes, 5 + classes], boxes in pixels, then sigmoids of objectness
// (v6: ones) and classes. YOLOX has this form with boxes that are not yet in pixels: that is another head.
#include "quasar/eval/head_rows.hpp"

namespace quasar::eval::heads {
namespace {

bool is_raw(const Piece& piece) {
  return piece.op == "Conv" || piece.op == "ConvTranspose";
}

// Of the scores: objectness and classes; 0: the fields are others.
int64_t scores_of_v5(const HeadFacts& facts, const HeadOutput& output) {
  const auto pieces = facts.pieces(output, 2);
  const auto runs = runs_of(pieces);
  const bool box = runs.size() >= 2 && runs[0] == Run{Field::numbers, 4} && !is_raw(pieces.front());
  const bool plain = box && runs[1].field == Field::scores;
  const bool with_ones = box && runs.size() >= 3 && runs[1] == Run{Field::constants, 1} && runs[2].field == Field::scores;
  const bool open = pieces.size() == 1 && !is_raw(pieces.front()) && !pieces.front().is_score();
  const int64_t scores = plain ? runs[1].size : with_ones && runs[2].size > 0 ? 1 + runs[2].size : output.shape[2] - 4;
  const auto rows = rows_of(facts, output, 2);
  if (rows.empty()) return plain || with_ones ? scores : 0;
  if ((!plain && !with_ones && !open) || scores < 2) return 0;
  const auto sizes = reached(rows, 2, 2);
  return are_shares(reached(rows, 4, static_cast<size_t>(scores))) && sizes.high > 2 && !are_corners(rows) ? scores : 0;
}

std::optional<Claim> claim_of_yolov5(const HeadFacts& facts) {
  if (!facts.picture() || facts.outputs().empty()) return std::nullopt;
  const HeadOutput& output = facts.outputs().front();
  const Shape& shape = output.shape;
  if (shape.size() != 3 || shape[0] != 1 || shape[2] < 6 || (shape[1] >= 0 && shape[1] <= shape[2])) return std::nullopt;
  if (!fits_grids(facts, shape[1]) && !fits_grids(facts, shape[1], 3)) return std::nullopt;
  const int64_t scores = scores_of_v5(facts, output);
  if (scores < 2) return std::nullopt;
  const int64_t more = shape[2] - 4 - scores;
  Claim claim = detector("yolov5", {&output},
                         "output " + in_words(output) + ": 4 numbers of a box, then " + std::to_string(scores) +
                             " scores, boxes for each cell of the usual grids");
  if (more > 0) claim.head.decoder = {{"name", "yolov5"}, {"classes", scores - 1}};
  return claim;
}

}  // namespace

Entry<HeadKind> yolov5() {
  return kind_of("YOLOv5, v6 and v7 as they are exported: [1,boxes,5+classes] in pixels", claim_of_yolov5);
}

}  // namespace quasar::eval::heads
