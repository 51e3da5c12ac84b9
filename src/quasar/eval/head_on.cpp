#include <algorithm>

#include "quasar/data/repeating.hpp"
#include "quasar/eval/flattened.hpp"
#include "quasar/eval/head.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::eval {

Head head_on(const graph::Model& model, const data::Dataset& samples, size_t most) {
  const runtime::Session session(model);
  const OutputWeights all(nullptr, session.outputs());
  const int64_t repeats = data::repeats_of(samples);
  std::vector<Flattened> outputs;
  Seen seen;
  for (size_t i = 0; i < std::min(most, samples.size()); ++i) {
    const data::Sample sample = samples.at(i);
    outputs.emplace_back(first_of(session.run(sample), repeats), session.outputs(), all);
    Layout layout{outputs.back().shapes(), {}};
    for (const Tensor& input : first_of(sample, repeats)) layout.inputs.push_back(input.shape());
    seen.layouts.push_back(std::move(layout));
  }
  for (const Flattened& output : outputs) seen.values.push_back(output.values());
  return head_of(model, seen);
}

}  // namespace quasar::eval
