// PicoDet and NanoDet: for each cell of each scale class scores and four distributions of distances (Li et al. 2020). Per scale
// two outputs [1, cells, classes] and [1, cells, 4·bins], or all in one [1, cells, classes + 4·bins]. Exported with decoded
// boxes, two outputs: [1, boxes, 4] in pixels and [1, classes, boxes].
#include <algorithm>

#include "quasar/eval/head_rows.hpp"

namespace quasar::eval::heads {
namespace {

// Per scale: as many outputs of sigmoids as of distributions, the same cells in both.
std::optional<Claim> per_scale(const HeadFacts& facts) {
  std::vector<const HeadOutput*> scores, distances, all;
  for (const auto& output : facts.outputs()) {
    if (output.shape.size() != 3 || output.shape[0] != 1 || output.shape[2] < 1) return std::nullopt;
    (facts.maker(output, 2).is_score() ? scores : distances).push_back(&output);
  }
  if (scores.size() < 2 || scores.size() != distances.size()) return std::nullopt;
  const auto finer = [](const HeadOutput* one) { return one->shape[1]; };
  std::ranges::stable_sort(scores, std::ranges::greater(), finer);
  std::ranges::stable_sort(distances, std::ranges::greater(), finer);
  std::vector<int64_t> cells;
  for (size_t i = 0; i < scores.size(); ++i) {
    const Shape &score = scores[i]->shape, &distance = distances[i]->shape;
    if (score[1] != distance[1] || score[2] != scores[0]->shape[2] || distance[2] != distances[0]->shape[2]) return std::nullopt;
    cells.push_back(score[1]);
  }
  const int64_t values = distances[0]->shape[2];
  if (values % 4 != 0 || values < 8 || !fits_strides(facts, cells)) return std::nullopt;
  all = scores;
  all.insert(all.end(), distances.begin(), distances.end());
  return detector("picodet", all,
                  std::to_string(scores.size()) + " scales, each with class scores like " + in_words(*scores[0]) +
                      " and 4 distributions like " + in_words(*distances[0]),
                  {{"name", "picodet"}, {"bins", values / 4}});
}

// Strides 8, 16, 32, 64 (NanoDet-Plus) or 8, 16, 32 in one output.
std::optional<Claim> in_one(const HeadFacts& facts) {
  const HeadOutput* output = facts.only();
  if (output == nullptr || output->shape.size() != 3) return std::nullopt;
  const auto runs = runs_of(facts.pieces(*output, 2));
  if (runs.size() != 2 || runs[0].field != Field::scores || runs[1].field != Field::numbers) return std::nullopt;
  if (runs[0].size < 1 || runs[1].size < 8 || runs[1].size % 4 != 0 || !fits_grids(facts, output->shape[1])) return std::nullopt;
  return detector("nanodet", {output},
                  "output " + in_words(*output) + ": for each cell " + std::to_string(runs[0].size) +
                      " scores, then 4 distributions of " + std::to_string(runs[1].size / 4) + " values",
                  {{"name", "picodet"}, {"bins", runs[1].size / 4}, {"centre", 0}});
}

std::optional<Claim> decoded_boxes(const HeadFacts& facts) {
  if (facts.outputs().size() != 2) return std::nullopt;
  const auto is_boxes = [](const HeadOutput& one) { return one.shape.size() == 3 && one.shape[0] == 1 && one.shape[2] == 4; };
  const bool first = is_boxes(facts.outputs()[0]);
  const HeadOutput &boxes = facts.outputs()[first ? 0 : 1], &scores = facts.outputs()[first ? 1 : 0];
  if (!is_boxes(boxes) || scores.shape.size() != 3 || scores.shape[2] != boxes.shape[1] || scores.shape[1] == boxes.shape[1] ||
      !facts.maker(scores, 1).is_score() || facts.maker(boxes, 2).is_score() || !fits_grids(facts, boxes.shape[1]))
    return std::nullopt;
  const auto rows = rows_of(facts, boxes, 2);
  Claim claim = detector("picodet", {&boxes, &scores},
                         "outputs " + in_words(boxes) + " and " + in_words(scores) + ": boxes and class scores of each cell");
  claim.sure = rows.empty() || (are_corners(rows) && reached(rows, 0, 4).high > 2);
  return claim;
}

std::optional<Claim> claim_of_picodet(const HeadFacts& facts) {
  if (!facts.picture()) return std::nullopt;
  if (auto claim = per_scale(facts)) return claim;
  if (auto claim = in_one(facts)) return claim;
  return decoded_boxes(facts);
}

}  // namespace

Entry<HeadKind> picodet() {
  return kind_of("PicoDet and NanoDet: class scores and distributions of distances for each cell, or boxes and scores",
                 claim_of_picodet);
}

}  // namespace quasar::eval::heads
