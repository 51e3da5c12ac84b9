#include "quasar/eval/model_runs.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/machine.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/data/repeating.hpp"
#include "quasar/eval/flattened.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval {
namespace {

// Samples that stay in memory between trials: reading and converting an image costs as much as a small network.
constexpr size_t sample_cache_bytes = size_t{128} << 20;

size_t bytes_of_sample(const data::Sample& sample) {
  size_t total = 0;
  for (const auto& tensor : sample) total += tensor.bytes().size();
  return total;
}

}  // namespace

ModelRuns::ModelRuns(data::DatasetPtr samples, bool exact_sums, std::vector<std::string> judged)
    : samples_(std::move(samples)),
      count_(samples_->size()),
      repeats_(data::repeats_of(*samples_)),
      exact_sums_(exact_sums),
      judged_(std::move(judged)),
      kept_(count_) {}

runtime::RunnerOptions ModelRuns::options(size_t threads, const runtime::Device& device) const {
  return {.device = device, .exact_sums = exact_sums_, .at_once = std::min(threads == 0 ? cores() : threads, count_)};
}

// Of values that are no outputs their type alone is told: shapes may depend on the sample.
graph::Model ModelRuns::judged(const graph::Model& model) const {
  graph::Model out = model;
  if (judged_.empty()) return out;
  const graph::Index index(model);
  out.outputs.clear();
  for (const auto& name : judged_) {
    const auto known = std::ranges::find(model.outputs, name, &graph::Value::name);
    if (known == model.outputs.end() && index.producer(name) == nullptr) {
      throw NotComparable("the candidate has no value '" + name +
                          "', from which the float model chooses what it gives: only an evaluator or a decoder can judge it");
    }
    out.outputs.push_back(known != model.outputs.end() ? *known : graph::Value{.name = name, .type = DataType::float32});
  }
  graph::remove_unused(out);
  return out;
}

runtime::Runner ModelRuns::judged_runner(const graph::Model& model, size_t threads, const runtime::Device& device) const {
  return judged_.empty() ? runtime::Runner(model, options(threads, device))
                         : runtime::Runner(judged(model), options(threads, device));
}

data::Sample ModelRuns::sample(size_t i) const {
  return kept_[i].empty() ? samples_->at(i) : kept_[i];
}

void ModelRuns::keep(size_t i, data::Sample sample) {
  if ((i + 1) * bytes_of_sample(sample) <= sample_cache_bytes) kept_[i] = std::move(sample);
}

std::vector<Tensor> ModelRuns::run(const runtime::Runner& runner, const data::Sample& sample) const {
  return first_of(runner.run(sample), repeats_);
}

Outputs ModelRuns::all(const graph::Model& model, size_t threads, const runtime::Device& device) const {
  const runtime::Runner runner(model, options(threads, device));
  Outputs out;
  for (const auto& output : runner.outputs()) out.names.push_back(output.name);
  out.values.assign(out.names.size(), std::vector<Tensor>(count_));
  parallel_for(count_, threads, [&](size_t i) {
    const auto found = run(runner, sample(i));
    for (size_t k = 0; k < found.size(); ++k) out.values[k][i] = found[k];
  });
  return out;
}

data::Sample with_noise(data::Sample sample, double share, size_t seed) {
  Rng rng(seed);
  for (Tensor& input : sample) {
    if (input.type() != DataType::float32 || input.count() == 0) continue;
    std::vector<float> values(input.as<float>().begin(), input.as<float>().end());
    const double size = std::sqrt(dot(values, values) / static_cast<double>(values.size()));
    for (float& value : values) value += static_cast<float>(share * size * rng.normal());
    input = Tensor::of<float>(input.shape(), values);
  }
  return sample;
}

}  // namespace quasar::eval
