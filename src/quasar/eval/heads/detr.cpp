// DETR and its kin: a set of queries, for each class scores [1, queries, classes] without suppression, and a box [1, queries, 4]
// of centre and size as shares of the picture, made by a sigmoid. Scores are logits of a softmax whose last class is "nothing",
// or of sigmoids; what the float model answered tells which.
#include <algorithm>

#include "quasar/eval/head_rows.hpp"

namespace quasar::eval::heads {
namespace {

constexpr int64_t most_queries = 2000;

struct Queries {
  double nothing = 0;   // share of rows whose greatest value is the last one
  double positive = 0;  // share of rows with a value above 0
};

Queries queries_of(const std::vector<Rows>& samples) {
  size_t rows = 0, last = 0, positive = 0;
  for (const Rows& sample : samples) {
    for (size_t row = 0; row < sample.rows; ++row) {
      size_t best = 0;
      for (size_t c = 1; c < sample.fields; ++c) best = sample.at(row, c) > sample.at(row, best) ? c : best;
      last += best + 1 == sample.fields ? 1 : 0;
      positive += sample.at(row, best) > 0 ? 1 : 0;
      ++rows;
    }
  }
  const auto count = static_cast<double>(std::max<size_t>(rows, 1));
  return {static_cast<double>(last) / count, static_cast<double>(positive) / count};
}

// "": it cannot be told.
std::string activation_of(const HeadFacts& facts, const HeadOutput& scores) {
  if (facts.are_probabilities(scores, 2) || facts.maker(scores, 2).is_score()) return "none";
  const auto rows = rows_of(facts, scores, 2);
  if (rows.empty()) return "";
  const Queries queries = queries_of(rows);
  if (queries.nothing > 0.5) return "softmax";
  return queries.positive < 0.5 ? "sigmoid" : "";
}

std::optional<Claim> claim_of_detr(const HeadFacts& facts) {
  if (!facts.picture() || facts.outputs().size() != 2) return std::nullopt;
  const auto is_boxes = [&](const HeadOutput& one) {
    return one.shape.size() == 3 && one.shape[0] == 1 && one.shape[2] == 4 && facts.maker(one, 2).is_score();
  };
  const bool boxes_first = is_boxes(facts.outputs()[0]);
  const HeadOutput &boxes = facts.outputs()[boxes_first ? 0 : 1], &scores = facts.outputs()[boxes_first ? 1 : 0];
  if (!is_boxes(boxes) || scores.shape.size() != 3 || scores.shape[1] != boxes.shape[1] || scores.shape[2] < 2)
    return std::nullopt;
  if (boxes.shape[1] > most_queries) return std::nullopt;
  const std::string activation = activation_of(facts, scores);
  const bool background = activation == "softmax" || facts.are_probabilities(scores, 2);
  Json decoder{{"name", "detr"}};
  if (!activation.empty()) decoder["activation"] = activation;
  decoder["background"] = background || activation.empty();
  const std::string told = activation.empty() ? "; samples tell whether the scores are a softmax's or sigmoids'" : "";
  Claim claim = detector(
      "detr", {&scores, &boxes},
      "outputs " + in_words(scores) + " and " + in_words(boxes) + ": class scores of queries, and boxes made by a sigmoid" + told,
      decoder);
  claim.sure = !activation.empty() || facts.samples() == 0;
  return claim;
}

}  // namespace

Entry<HeadKind> detr() {
  return kind_of("DETR: class scores [1,queries,classes] and boxes [1,queries,4] made by a sigmoid", claim_of_detr);
}

}  // namespace quasar::eval::heads
