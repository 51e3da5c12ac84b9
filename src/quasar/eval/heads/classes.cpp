// Classes: one vector of a sample's scores, by softmax, by sigmoids, or as they leave the last layer.
#include "quasar/eval/head.hpp"
#include "quasar/eval/head_vectors.hpp"

namespace quasar::eval::heads {
namespace {

constexpr int64_t fewest_without_softmax = 5;  // fewer may as well be angles, corners of a box, marks
constexpr double nearly_constant = 0.9;        // coordinates of a face are nearly the same for every face; scores are not

Claim classes(const HeadOutput& output, const std::string& what) {
  return {
      {.name = "classes", .why = "output " + in_words(output) + ": " + what, .outputs = {output.name}, .metric = "agreement"}};
}

std::optional<Claim> claim_of_classes(const HeadFacts& facts) {
  const HeadOutput* output = facts.only();
  const auto axis = output == nullptr ? std::nullopt : vector_axis(*output);
  if (!axis || !output->is_float() || facts.is_token_length(output->shape[*axis])) return std::nullopt;
  const Piece made = facts.maker(*output, *axis);
  if (facts.are_probabilities(*output, *axis)) return classes(*output, "probabilities that sum to 1");
  const bool scores = made.is_score();
  if (!scores && !facts.is_affine(made)) return std::nullopt;
  Claim claim =
      classes(*output, scores ? "a sigmoid for each class" : "scores as they leave the last layer, a product with a bias");
  const auto share = constant_share(facts, *output);
  const bool few = output->shape[*axis] < fewest_without_softmax && !scores && (facts.picture() || have_one_sign(facts, *output));
  if ((share && *share > nearly_constant) || few) {
    claim.head.why += few ? "; so few may as well be numbers, such as angles or marks"
                          : "; nearly the same for every sample, as coordinates are";
    claim.sure = false;
  }
  return claim;
}

}  // namespace

Entry<HeadKind> classes() {
  return kind_of("classes of a sample: one vector by softmax or sigmoid, or as it leaves the last layer", claim_of_classes);
}

}  // namespace quasar::eval::heads
