// Pictures out of pictures: enlarged, cleaned, in another style. Three channels alone are no proof, they may be three classes.
#include <algorithm>

#include "quasar/eval/head.hpp"
#include "quasar/eval/head_facts.hpp"

namespace quasar::eval::heads {
namespace {

// A sum with the model's own input.
bool adds_to_input(const HeadFacts& facts, const Piece& made) {
  if (made.op != "Add") return false;
  return std::ranges::any_of(made.node->inputs, [&](const std::string& value) {
    return std::ranges::any_of(facts.model().inputs, [&](const auto& input) { return input.name == value; });
  });
}

std::optional<Claim> claim_of_picture(const HeadFacts& facts) {
  const HeadOutput* output = facts.only();
  if (!facts.picture() || output == nullptr || !output->is_float() || output->shape.size() != 4 || output->shape[0] != 1)
    return std::nullopt;
  const auto& picture = *facts.picture();
  const Shape& shape = output->shape;
  const bool last = shape[1] != picture.channels && shape[3] == picture.channels;
  const size_t axis = last ? 3 : 1, row = last ? 1 : 2;
  if (shape[axis] != picture.channels || (picture.channels != 3 && picture.channels != 1)) return std::nullopt;
  const Piece made = facts.maker(*output, axis);
  if (made.node == nullptr || facts.are_probabilities(*output, axis)) return std::nullopt;
  const bool larger = picture.height > 0 && shape[row] > picture.height && shape[row + 1] > picture.width;
  const bool shuffled = made.op == "DepthToSpace", bounded = made.op == "Tanh" || made.op == "Clip";
  const bool sigmoids = made.is_score() && picture.channels == 3;
  const bool sure = larger || shuffled || bounded || sigmoids || adds_to_input(facts, made);
  if (!sure && !facts.is_affine(made, false)) return std::nullopt;
  Claim claim{{.name = "picture",
               .why = "output " + in_words(*output) + ": a picture of the input's channels",
               .outputs = {output->name},
               .metric = "psnr"}};
  claim.sure = sure;
  if (!sure) claim.head.why += "; they may as well be classes";
  return claim;
}

}  // namespace

Entry<HeadKind> picture() {
  return kind_of("a picture made of a picture: [1,3,height,width]", claim_of_picture);
}

}  // namespace quasar::eval::heads
