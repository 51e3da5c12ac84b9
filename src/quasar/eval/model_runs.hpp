// Models that run on the samples of an evaluator, and what of their values is judged.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/eval/custom.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/runtime/runner.hpp"

namespace quasar::eval {

// The candidate's outputs have no distance to the float model's.
struct NotComparable : Error {
  using Error::Error;
};

// Thread-safe but for keep(), which may be called once for each sample.
class ModelRuns {
 public:
  // `judged`: names of values that are compared in the outputs' stead (ops::chosen_outputs); empty: the outputs.
  // `exact_sums`: SessionOptions::exact_sums.
  ModelRuns(data::DatasetPtr samples, bool exact_sums, std::vector<std::string> judged);

  const std::vector<std::string>& judged_values() const { return judged_; }
  int64_t repeats() const { return repeats_; }  // how often a sample stands in a batch

  // The model with judged values as its outputs, and without what only other outputs need. Throws NotComparable where it lacks
  // such a value.
  graph::Model judged(const graph::Model& model) const;

  // What judged() gives, ready to run on so many threads (0: all cores), one sample on each.
  runtime::Runner judged_runner(const graph::Model& model, size_t threads, const runtime::Device& device) const;

  data::Sample sample(size_t i) const;
  // So that sample() need not read it again, as long as little memory is used.
  void keep(size_t i, data::Sample sample);

  // Of one sample, whose copies may fill a batch: one tensor per output.
  std::vector<Tensor> run(const runtime::Runner& runner, const data::Sample& sample) const;

  // The model's own outputs on all samples, for evaluators that look at them.
  Outputs all(const graph::Model& model, size_t threads, const runtime::Device& device) const;

 private:
  runtime::RunnerOptions options(size_t threads, const runtime::Device& device) const;

  data::DatasetPtr samples_;
  size_t count_;
  int64_t repeats_;
  bool exact_sums_;
  std::vector<std::string> judged_;
  std::vector<data::Sample> kept_;
};

// Normal noise on the float inputs, of this share of their root mean square.
data::Sample with_noise(data::Sample sample, double share, size_t seed);

}  // namespace quasar::eval
