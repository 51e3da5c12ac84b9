// FastestDet: one output [1, 5 + classes, height, width], joined of a sigmoid, four numbers and a softmax over classes.
#include "quasar/eval/head_rows.hpp"

namespace quasar::eval::heads {
namespace {

std::optional<Claim> claim_of_fastestdet(const HeadFacts& facts) {
  const HeadOutput* output = facts.only();
  if (!facts.picture() || output == nullptr || output->shape.size() != 4) return std::nullopt;
  const auto runs = runs_of(facts.pieces(*output, 1));
  const std::vector<Run> wanted{{Field::scores, 1}, {Field::numbers, 4}, {Field::probabilities, output->shape[1] - 5}};
  if (runs != wanted) return std::nullopt;
  return detector("fastestdet", {output},
                  "output " + in_words(*output) + ": in each cell a sigmoid, 4 numbers of a box and a softmax over " +
                      std::to_string(output->shape[1] - 5) + " classes");
}

}  // namespace

Entry<HeadKind> fastestdet() {
  return kind_of("FastestDet: one grid [1,5+classes,height,width]", claim_of_fastestdet);
}

}  // namespace quasar::eval::heads
