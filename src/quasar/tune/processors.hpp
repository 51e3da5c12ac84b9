// For which processors the scores of a quantized model hold: where sums can leave 16 bits, x86 processors without VNNI compute
// something else (ops/overflow.hpp).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/ops/overflow.hpp"

namespace quasar::tune {

struct Processors {
  std::vector<ops::Overflow> nodes;                  // with sums that can overflow; none: scores hold for every processor
  std::map<std::string, double> here;                // what this processor's sums make of the scores, where that was measured
  ops::Kernels kernels = ops::Kernels::onnxruntime;  // whose sums they are
};

Processors processors_of(const graph::Model& quantized, ops::Kernels kernels = ops::Kernels::onnxruntime);

// {scores_hold_for: text, nodes: [{node, pairs, overflowing, lowest}], cure: text, here: {metric: value}}, without what is empty.
Json to_json(const Processors& processors);

// The same in a sentence, with the cure; "" where scores hold for every processor.
std::string in_words(const Processors& processors);

}  // namespace quasar::tune
