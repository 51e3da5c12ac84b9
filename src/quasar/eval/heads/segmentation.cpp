// A class for every pixel: [1, classes, height, width], also with the classes last, or the classes themselves as whole numbers.
#include <algorithm>

#include "quasar/eval/head.hpp"
#include "quasar/eval/head_facts.hpp"

namespace quasar::eval::heads {
namespace {

bool same_shapes(const HeadFacts& facts) {
  return std::ranges::all_of(facts.outputs(), [&](const HeadOutput& one) { return one.shape == facts.outputs().front().shape; });
}

// Whether these are a picture's sides: its own, or, not `whole`, a fraction of both.
bool are_sides(const HeadFacts& facts, int64_t height, int64_t width, bool whole) {
  const auto& picture = *facts.picture();
  if (height < 0 || width < 0 || picture.height < 0 || picture.width < 0) return true;
  if (whole) return height == picture.height && width == picture.width;
  return height > 1 && width > 1 && height <= picture.height && height * picture.width == width * picture.height;
}

Claim segmentation(const HeadOutput& output, const std::string& what, const std::string& options) {
  return {{.name = "segmentation",
           .why = "output " + in_words(output) + ": " + what,
           .outputs = {output.name},
           .metric = "mean_iou(truth=float" + options + ")"}};
}

std::optional<Claim> of_class_numbers(const HeadFacts& facts, const HeadOutput& output) {
  const Shape& shape = output.shape;
  const bool whole = output.type == DataType::int64 || output.type == DataType::int32 || output.type == DataType::uint8;
  if (!whole || !facts.has("ArgMax") || shape.size() < 3 || shape.size() > 4 || (shape.size() == 4 && shape[1] != 1))
    return std::nullopt;
  if (!are_sides(facts, shape[shape.size() - 2], shape.back(), false)) return std::nullopt;
  return segmentation(output, "a class number for every pixel", ",classes=none");
}

// Scores that are no probabilities: what else could they be?
std::string doubt(const HeadFacts& facts, int64_t classes, bool whole) {
  if (!whole) return "they may as well be heatmaps, being smaller than the picture";
  if (classes < 4) return "so few may as well be colours or a flow";
  return facts.picture()->channels == classes ? "they may as well be a picture" : "";
}

std::optional<Claim> claim_of_segmentation(const HeadFacts& facts) {
  if (!facts.picture() || facts.outputs().empty() || !same_shapes(facts)) return std::nullopt;
  const HeadOutput& output = facts.outputs().front();
  if (auto numbers = of_class_numbers(facts, output)) return numbers;
  const Shape& shape = output.shape;
  if (!output.is_float() || shape.size() != 4 || shape[0] != 1) return std::nullopt;
  const bool last =
      !are_sides(facts, shape[2], shape[3], false) || (facts.are_probabilities(output, 3) && !facts.are_probabilities(output, 1));
  const size_t axis = last ? 3 : 1, row = last ? 1 : 2;
  const int64_t classes = shape[axis];
  if (classes < 2 || !are_sides(facts, shape[row], shape[row + 1], false)) return std::nullopt;
  const std::string options = last ? ",classes=last" : "";
  if (facts.are_probabilities(output, axis)) return segmentation(output, "probabilities of classes for every pixel", options);
  const Piece made = facts.maker(output, axis);
  const bool resized = made.op == "Resize" || made.op == "Upsample";
  if (!resized && !facts.is_affine(made, false) && !made.is_score()) return std::nullopt;
  Claim claim = segmentation(output, "scores of " + std::to_string(classes) + " classes for every pixel", options);
  const bool whole = are_sides(facts, shape[row], shape[row + 1], true);
  const std::string other = made.is_score() ? "sigmoids may as well be heatmaps" : doubt(facts, classes, whole);
  claim.sure = other.empty();
  if (!claim.sure) claim.head.why += "; " + other;
  return claim;
}

}  // namespace

Entry<HeadKind> segmentation() {
  return kind_of("a class for every pixel: [1,classes,height,width], classes last, or class numbers", claim_of_segmentation);
}

}  // namespace quasar::eval::heads
