// The float model's run on the samples of an evaluator: what candidates are compared with.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/eval/decoder.hpp"
#include "quasar/eval/flattened.hpp"
#include "quasar/eval/head.hpp"
#include "quasar/eval/ledger.hpp"
#include "quasar/eval/model_runs.hpp"
#include "quasar/eval/output_store.hpp"
#include "quasar/eval/parts.hpp"

namespace quasar::eval {

// " (sample 3)"
std::string at_sample(size_t index);

// Whoever makes it fills it in, sample by sample; from then on any thread may ask.
struct FloatRun {
  // `memory_limit`, `spill`: as OutputStore has them.
  FloatRun(data::DatasetPtr samples, ModelRuns runs, size_t memory_limit, const std::filesystem::path& spill);

  // What metrics see of a sample and these outputs of it.
  Pair pair_of(size_t sample, std::span<const float> candidate) const;
  // The same of a candidate. Throws NotComparable for as many values as the float model does not have, or such as are not finite.
  Pair comparable(size_t sample, std::span<const float> candidate) const;
  // The same for metrics. Where all are of detections (counts_detections()), their number may differ.
  Pair scorable(size_t sample, const Flattened& candidate) const;
  bool counts_detections() const;  // whether all metrics need the decoder, which makes boxes of outputs of any size
  bool needs(Truth truth) const;   // whether a metric does
  // Evaluator::distance().
  double distance(std::vector<Tensor> a, std::vector<Tensor> b) const;
  // What the float model answered on a few samples, which are enough to see what its outputs mean.
  Seen seen() const;
  // The metric of the float model against itself.
  double reference_by(const NamedMetric& one) const;
  // Puts the answers with the first metric's score, unless some sample has none.
  void keep_answers(Scores& scores, std::vector<int32_t> found) const;

  data::DatasetPtr samples;
  size_t count;
  ModelRuns runs;
  std::vector<NamedMetric> metrics;
  OutputStore outputs;
  std::optional<OutputWeights> weights;  // once the model's outputs are known
  std::vector<int32_t> answers;          // the float model's
  std::vector<Layout> layouts;
  std::vector<std::map<std::string, Tensor>> inputs;  // of each sample, those that metrics look at
  std::vector<data::Boxes> boxes;                     // empty: no metric needs them
  std::vector<Tensor> targets;                        // the same
  std::unique_ptr<Decoder> decoder;
  std::optional<OutputParts> parts;
  std::vector<graph::Value> graph_outputs;
  Context context;
};

// NaN and infinity are not.
bool all_finite(std::span<const float> values);

}  // namespace quasar::eval
