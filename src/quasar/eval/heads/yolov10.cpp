// YOLOv10 and others that need no suppression: one output [1, rows, 6] of the best boxes, chosen by TopK in the model: corners in
// pixels, score, class.
#include <cmath>

#include "quasar/eval/head_rows.hpp"

namespace quasar::eval::heads {
namespace {

bool are_whole(const std::vector<Rows>& samples, size_t field) {
  for (const Rows& sample : samples) {
    for (size_t row = 0; row < sample.rows; ++row) {
      if (sample.at(row, field) != std::floor(sample.at(row, field))) return false;
    }
  }
  return true;
}

std::optional<Claim> claim_of_yolov10(const HeadFacts& facts) {
  const HeadOutput* output = facts.only();
  if (!facts.picture() || output == nullptr || output->shape.size() != 3 || output->shape[2] != 6 || !facts.has("TopK"))
    return std::nullopt;
  const auto pieces = facts.pieces(*output, 2);
  if (pieces.size() != 3 || pieces[0].size != 4) return std::nullopt;
  const auto rows = rows_of(facts, *output, 2);
  if (!rows.empty() && (!are_corners(rows) || !are_shares(reached(rows, 4, 1)) || !are_whole(rows, 5))) return std::nullopt;
  return detector("yolov10", {output}, "output " + in_words(*output) + ": corners, score and class of the boxes that TopK chose");
}

}  // namespace

Entry<HeadKind> yolov10() {
  return kind_of("YOLOv10 and others without suppression: [1,rows,6] of corners, score and class", claim_of_yolov10);
}

}  // namespace quasar::eval::heads
