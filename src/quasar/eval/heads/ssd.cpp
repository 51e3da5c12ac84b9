// Boxes [1, N, 4] beside class scores [1, N, classes]: single-shot detectors whose boxes are decoded in the model. Whether they
// are is told by how they end (centre minus and plus half a size) or by values that are corners. Offsets from priors are told
// apart.
#include "quasar/eval/head_rows.hpp"

namespace quasar::eval::heads {
namespace {

bool ends_in_corners(const HeadFacts& facts, const HeadOutput& boxes) {
  const auto pieces = facts.pieces(boxes, 2);
  if (pieces.size() != 2 && pieces.size() != 4) return false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].op != (i < pieces.size() / 2 ? "Sub" : "Add")) return false;
  }
  return true;
}

Json decoder_of(const HeadFacts& facts, const HeadOutput& boxes, const HeadOutput& scores) {
  Json decoder{{"name", "ssd"}};
  const Piece made = facts.maker(scores, 2);
  const bool normalized = facts.samples() == 0 || reached(rows_of(facts, boxes, 2), 0, 4).high <= 2;
  if (!normalized) decoder["normalized"] = false;
  if (facts.are_probabilities(scores, 2)) return decoder;
  decoder["background"] = -1;
  if (!made.is_score()) decoder["activation"] = "sigmoid";
  return decoder;
}

std::optional<Claim> claim_of_ssd(const HeadFacts& facts) {
  if (!facts.picture() || facts.outputs().size() != 2) return std::nullopt;
  const auto is_boxes = [](const HeadOutput& one) { return one.shape.size() == 3 && one.shape[0] == 1 && one.shape[2] == 4; };
  const bool boxes_first = is_boxes(facts.outputs()[0]);
  const HeadOutput &boxes = facts.outputs()[boxes_first ? 0 : 1], &scores = facts.outputs()[boxes_first ? 1 : 0];
  if (!is_boxes(boxes) || is_boxes(scores) || scores.shape.size() != 3 || scores.shape[1] != boxes.shape[1] ||
      scores.shape[2] < 2)
    return std::nullopt;
  if (facts.maker(boxes, 2).is_score() || (boxes.shape[1] >= 0 && boxes.shape[1] < 64)) return std::nullopt;
  const auto rows = rows_of(facts, boxes, 2);
  const bool corners = rows.empty() ? ends_in_corners(facts, boxes) : are_corners(rows);
  const bool scored = facts.are_probabilities(scores, 2) || facts.maker(scores, 2).is_score();
  const std::string both = "outputs " + in_words(boxes) + " and " + in_words(scores);
  if (corners && scored)
    return detector("ssd", {&boxes, &scores}, both + ": corners of boxes and probabilities of classes",
                    decoder_of(facts, boxes, scores));
  Claim claim = detector(
      "ssd", {&boxes, &scores},
      both + (corners
                  ? ": corners of boxes, but no probabilities of classes"
                  : ": the boxes are no corners, perhaps offsets from priors; name them in decoder: {name: ssd, priors: ...}"));
  claim.sure = false;
  return claim;
}

}  // namespace

Entry<HeadKind> ssd() {
  return kind_of("SSD with boxes decoded in the model: corners [1,N,4] and probabilities [1,N,classes]", claim_of_ssd);
}

}  // namespace quasar::eval::heads
