// Classes: one vector of a sample's scores, by softmax, by sigmoids, or as they leave the last layer.
#include <algorithm>

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

// Classifiers of scikit-learn and the like give the most likely label beside the scores: [label] in whole numbers, taken from
// them by ArgMax. nullptr: several outputs of which none is all there is.
const HeadOutput* scores_of(const HeadFacts& facts) {
  if (facts.only() != nullptr) return facts.only();
  const auto& outputs = facts.outputs();
  if (outputs.size() != 2 || !facts.has("ArgMax") || outputs[0].is_float() == outputs[1].is_float()) return nullptr;
  const HeadOutput& label = outputs[outputs[0].is_float() ? 1 : 0];
  const bool one = std::ranges::all_of(label.shape, [](int64_t size) { return size == 1; });
  return one ? &outputs[outputs[0].is_float() ? 0 : 1] : nullptr;
}

std::optional<Claim> claim_of_classes(const HeadFacts& facts) {
  const HeadOutput* output = scores_of(facts);
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
