// For which processors the scores of a quantized model hold: where sums can leave 16 bits, x86 processors without VNNI compute
// something else (ops/overflow.hpp).
#pragma once

#include <string>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::tune {

// {scores_hold_for: text} and, where sums of the model can overflow, {nodes: [{node, pairs, overflowing, lowest}], cure: text}.
Json processors_of(const graph::Model& quantized);

// The same in a sentence, with the cure; "" where scores hold for every processor. `facts`: of processors_of.
std::string overflow_in_words(const Json& facts);

}  // namespace quasar::tune
