// A class for every token of a text: tags, or the next token, [1, length, classes] with the length of an input of whole numbers.
#include "quasar/eval/answers.hpp"
#include "quasar/eval/head.hpp"
#include "quasar/eval/head_facts.hpp"

namespace quasar::eval::heads {
namespace {

constexpr int64_t fewest_without_bias = 1000;  // a vocabulary; smaller products without a bias may be projections

// An encoder's mask says nothing of the places that its decoder gives. That of a cache does.
bool has_mask_of_encoder(const HeadFacts& facts, int64_t places) {
  const Shape* mask = facts.shape_of("attention_mask");
  if (mask == nullptr) return false;
  std::vector<Shape> inputs;
  for (const auto& input : facts.model().inputs) {
    if (const Shape* shape = facts.shape_of(input.name)) inputs.push_back(*shape);
  }
  return masks_other_places(*mask, inputs, places);
}

std::optional<Claim> claim_of_tokens(const HeadFacts& facts) {
  const HeadOutput* output = facts.only();
  if (output == nullptr || !output->is_float() || output->shape.size() != 3 || output->shape[0] != 1) return std::nullopt;
  const int64_t classes = output->shape[2];
  if (!facts.is_token_length(output->shape[1]) || classes < 2) return std::nullopt;
  const Piece made = facts.maker(*output, 2);
  const bool scores = facts.are_probabilities(*output, 2) || facts.is_affine(made) ||
                      (classes >= fewest_without_bias && facts.is_affine(made, false));
  if (!scores) return std::nullopt;
  return Claim{
      {.name = "tokens",
       .why = "output " + in_words(*output) + ": scores of " + std::to_string(classes) + " classes for every token of the input",
       .outputs = {output->name},
       .metric = has_mask_of_encoder(facts, output->shape[1]) ? "token_accuracy(truth=float,mask=none)"
                                                              : "token_accuracy(truth=float)"}};
}

}  // namespace

Entry<HeadKind> tokens() {
  return kind_of("a class for every token of a text: [1,length,classes]", claim_of_tokens);
}

}  // namespace quasar::eval::heads
