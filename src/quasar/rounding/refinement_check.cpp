#include "quasar/rounding/refinement_check.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "quasar/base/hash.hpp"
#include "quasar/rounding/judges.hpp"
#include "quasar/runtime/output_distance.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_samples = 32;

// Of the error of a plan's model: the plan's hash does not know of refined scales and of codes.
std::string name_of(const quant::Plan& plan, const graph::Model& quantized) {
  std::string text = "refined " + quant::hash_of(plan);
  for (const auto& [name, tensor] : quantized.initializers) text += ' ' + name + ' ' + hash_of(tensor.bytes());
  return hash_of(std::string_view(text));
}

}  // namespace

// A model that is opened where it has to run. Weights stay in float: ONNX Runtime would quantize them by itself
// (keep_in_float.hpp).
class RefinementCheck::Run {
 public:
  explicit Run(const graph::Model& model) : model_(model) {}

  std::vector<Tensor> outputs(const data::Sample& sample) {
    {
      const std::lock_guard lock(guard_);
      if (!session_) open();
    }
    return session_->run(sample);
  }

 private:
  void open() {
    runtime::SessionOptions options;
    options.disabled_optimizers = "WeightBiasQuantization";
    session_.emplace(model_, options);
  }

  const graph::Model& model_;
  std::mutex guard_;
  std::optional<runtime::Session> session_;
};

RefinementCheck::RefinementCheck(const graph::Model& model, const data::DatasetPtr& samples, size_t threads, size_t most_bytes,
                                 Sharer sharer)
    : model_(model),
      judging_(data::subset(samples, spread_over(samples->size(), most_samples))),
      threads_(threads),
      most_bytes_(most_bytes),
      sharer_(std::move(sharer)),
      exact_(judging_->size()) {}

// The float model's outputs.
std::vector<Tensor> RefinementCheck::exact(size_t sample, Run& run) {
  {
    const std::lock_guard lock(guard_);
    if (exact_[sample]) return *exact_[sample];
  }
  std::vector<Tensor> found = run.outputs(judging_->at(sample));
  size_t bytes = 0;
  for (const auto& output : found) bytes += output.bytes().size();
  const std::lock_guard lock(guard_);
  if (!exact_[sample] && bytes_ + bytes <= most_bytes_) {
    exact_[sample] = found;
    bytes_ += bytes;
  }
  return found;
}

double RefinementCheck::error_of(const quant::Plan& plan) {
  const graph::Model quantized = quant::apply(model_, plan);
  Run in_float(model_), run(quantized);
  std::vector<double> errors(judging_->size());
  const auto work = [&](size_t i) { return std::vector{output_distance(exact(i, in_float), run.outputs(judging_->at(i)))}; };
  const auto tell = [&](size_t i, std::span<const double> error) {
    errors[i] = error.front();
    return true;
  };
  do_parts(sharer_, {.name = name_of(plan, quantized),
                     .parts = errors.size(),
                     .threads = threads_,
                     .numbers = [](size_t) { return size_t{1}; },
                     .work = work,
                     .tell = tell});
  return std::accumulate(errors.begin(), errors.end(), 0.0);
}

Refined RefinementCheck::proven(std::map<std::string, quant::QuantParams> refined, const quant::Plan& plan) {
  if (refined.empty() || judging_->size() == 0) return {std::move(refined)};
  quant::Plan values = plan;
  for (auto& [name, node] : values.nodes) {
    if (node.form == quant::NodeForm::pairs) node.weight.reset(), node.bias.reset();
  }
  std::vector<Refined> choices{{}, {refined}};
  for (const auto& input : model_.inputs) refined.erase(input.name);
  if (refined.size() < choices.back().params.size()) choices.push_back({std::move(refined)});
  for (auto& choice : choices) {
    values.refined = choice.params;
    choice.error = error_of(values);
    const double present = choices.front().error;
    choice.gain = present > 0 ? 1 - choice.error / present : 0;
  }
  return *std::ranges::min_element(choices, {}, &Refined::error);
}

}  // namespace quasar::tune
