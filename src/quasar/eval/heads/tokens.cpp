// A class for every token of a text: tags, or the next token, [1, length, classes] with the length of an input of whole numbers.
#include "quasar/eval/head.hpp"
#include "quasar/eval/head_facts.hpp"

namespace quasar::eval::heads {
namespace {

constexpr int64_t fewest_without_bias = 1000;  // a vocabulary; smaller products without a bias may be projections

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
       .metric = "token_accuracy(truth=float)"}};
}

}  // namespace

Entry<HeadKind> tokens() {
  return kind_of("a class for every token of a text: [1,length,classes]", claim_of_tokens);
}

}  // namespace quasar::eval::heads
