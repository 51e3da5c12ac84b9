// Scores of candidates against the float model's outputs, which are computed once.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/parallel.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/eval/custom.hpp"
#include "quasar/eval/head.hpp"
#include "quasar/eval/intervals.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/eval/parts.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/runtime/device.hpp"

namespace quasar::eval {

struct EvaluatorOptions {
  std::vector<std::string> metrics = {"parts"};
  size_t memory_limit = size_t{1} << 32;  // float outputs beyond it are spilled to a file in `spill`
  std::filesystem::path spill = {};       // empty: the system's temporary folder
  size_t threads = 0;                     // for the float run; 0: all cores
  uint64_t seed = 0;                      // of the order in which race() scores the samples
  runtime::Device device = {};            // that the float model runs on
  bool exact_sums = true;  // of candidates; false: as this processor's kernels add, overflow included (SessionOptions)
  std::shared_ptr<const CustomEvaluator> custom = {};  // gives those of `metrics` that bear its names; nullptr: there is none
  std::filesystem::path model = {};                    // the float model's file, for the custom evaluator; empty: written for it
  std::filesystem::path base = {};                     // where the custom evaluator's relative paths start
  std::filesystem::path candidates = {};  // folder of the models that it scores; empty: the system's temporary folder
  Json decoder = nullptr;                 // what turns outputs into detections: a name, or {name: …, option: value}
  Json output_weights = nullptr;          // {output: factor}
  std::vector<std::string> judged =
      {};                   // values that are compared in the outputs' stead (ops::chosen_outputs); empty: the outputs
  bool judge_head = false;  // also recognizes the model's head, and scores its metric unless one of its name is there
};

// Told after every block of samples: the first metric's values of all samples scored so far, in the race's order. false: enough.
using Referee = std::function<bool(std::span<const double> values)>;

// Thread-safe once constructed: several candidates may be scored at the same time.
class Evaluator {
 public:
  // Runs the float model on every sample. `metrics` are texts (metric.hpp), and name the scores. Throws Error when a metric needs
  // labels that the data does not have, or a decoder.
  Evaluator(const graph::Model& reference, data::DatasetPtr samples, EvaluatorOptions options);
  ~Evaluator();
  size_t samples() const;
  // The float model's own scores (top1 …; distances are 0), without intervals for the trivial ones.
  const Scores& reference() const;
  // The parts of the outputs, and the outputs' names as OutputPart::output counts them.
  const OutputParts& parts() const;
  const std::vector<std::string>& outputs() const;
  const Context& context() const;
  // EvaluatorOptions::judged.
  const std::vector<std::string>& judged_values() const;
  // The model with EvaluatorOptions::judged as its outputs, and without what only other outputs need. Throws Error where it has
  // no such value.
  graph::Model judged(const graph::Model& model) const;

  // How far two runs of the model on one sample lie apart, every part of the outputs in units of its own size:
  // √ Σ_p (‖a_p − b_p‖ / N_p)², N_p as OutputPart::norm. Infinite where an output differs in size. Outputs of other shapes than
  // the evaluation samples' may have other parts; they count as one.
  double distance(std::vector<Tensor> a, std::vector<Tensor> b) const;

  // Runs a model on every sample and shows what it gives beside the float model's outputs, from several threads. `noise`: normal
  // noise of this share of each float input's root mean square is added to it, the same for every model. Throws Error where the
  // outputs cannot be compared.
  using Visit = std::function<void(size_t sample, const Pair& pair)>;
  void each(const graph::Model& model, double noise, size_t threads, const runtime::Device& device, const Visit& visit) const;

  // What speaks against the labels (label_doubt.hpp), where a metric looks at them and the model answers with one class a sample;
  // "": nothing does.
  std::string label_doubt() const;

  // What judge_head found; `metric` is the one that is scored. nullopt: it was not asked for, or output_weights hide the head.
  const std::optional<Head>& head() const;
  // Runs the candidate (ONNX Runtime as users deploy it) on `threads` threads of this device and scores it. `said`: what the
  // custom evaluator gives for this model, where it is known; it is not asked then.
  Scores score(const graph::Model& candidate, size_t threads = 1, const runtime::Device& device = {},
               const Scores& said = {}) const;

  // The same in blocks of growing size; nullopt when the referee has seen enough before the end. The scores are those of score(),
  // bit by bit. `order`: of all samples; empty: a permutation that is the same for every candidate.
  std::optional<Scores> race(const graph::Model& candidate, size_t threads, const Referee& referee,
                             const runtime::Device& device = {}, std::span<const size_t> order = {},
                             const Scores& said = {}) const;

  // The first metric alone, which must be a mean over samples: the candidate runs on these samples in about this order, several
  // at once, and `look` is told of each by itself; false: enough. Throws Error where the outputs cannot be compared. `sharer`:
  // with whom that is shared, under this name.
  using Look = std::function<bool(size_t sample, double value)>;
  void look(const graph::Model& candidate, size_t threads, const runtime::Device& device, std::span<const size_t> order,
            const Look& look, const std::string& name = "", const Sharer& sharer = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quasar::eval
