// A map of one thing: for every pixel a sigmoid that says whether it is there (text, foreground, road). Networks with side
// outputs of the same form are judged by the first.
#include <algorithm>

#include "quasar/eval/head.hpp"
#include "quasar/eval/head_facts.hpp"

namespace quasar::eval::heads {
namespace {

std::optional<Claim> claim_of_map(const HeadFacts& facts) {
  if (!facts.picture() || facts.outputs().empty()) return std::nullopt;
  for (const HeadOutput& output : facts.outputs()) {
    const Shape& shape = output.shape;
    const auto ones = static_cast<size_t>(std::ranges::count(shape, 1));
    if (!output.is_float() || shape.size() < 3 || shape.size() > 4 || shape[0] != 1 || ones != shape.size() - 2)
      return std::nullopt;
    if (!facts.maker(output, shape.size() - 1).is_score()) return std::nullopt;
    if (shape.size() == 4 && shape[1] != 1 && shape[3] != 1) return std::nullopt;
    if (shape != facts.outputs().front().shape) return std::nullopt;
  }
  const HeadOutput& output = facts.outputs().front();
  if (output.shape.size() == 3 && !facts.picture()) return std::nullopt;
  return Claim{{.name = "map",
                .why = "output " + in_words(output) + ": a sigmoid for every pixel",
                .outputs = {output.name},
                .metric = "mean_iou(truth=float,classes=threshold)"}};
}

}  // namespace

Entry<HeadKind> map() {
  return kind_of("one thing, there or not at every pixel: sigmoids [1,1,height,width]", claim_of_map);
}

}  // namespace quasar::eval::heads
