#include "quasar/rounding/refinement_check.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "quasar/base/parallel.hpp"
#include "quasar/rounding/judges.hpp"
#include "quasar/runtime/output_distance.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_samples = 32;

using Outputs = std::vector<std::vector<Tensor>>;  // by sample

// Weights stay in float here: ONNX Runtime would quantize them by itself (keep_in_float.hpp).
Outputs outputs_of(const graph::Model& model, const data::Dataset& samples, std::span<const size_t> judges, size_t threads) {
  runtime::SessionOptions options;
  options.disabled_optimizers = "WeightBiasQuantization";
  const runtime::Session session(model, options);
  Outputs out(judges.size());
  parallel_for(judges.size(), threads, [&](size_t i) { out[i] = session.run(samples.at(judges[i])); });
  return out;
}

}  // namespace

std::map<std::string, quant::QuantParams> proven(std::map<std::string, quant::QuantParams> refined, const graph::Model& model,
                                                 const quant::Plan& plan, const data::Dataset& samples, size_t threads) {
  if (refined.empty() || samples.size() == 0) return refined;
  const std::vector<size_t> judging = spread_over(samples.size(), most_samples);
  quant::Plan values = plan;
  for (auto& [name, node] : values.nodes) {
    if (node.form == quant::Form::pairs) node.weight.reset(), node.bias.reset();
  }
  const Outputs exact = outputs_of(model, samples, judging, threads);
  const auto error = [&](const std::map<std::string, quant::QuantParams>& chosen) {
    values.refined = chosen;
    const Outputs found = outputs_of(quant::apply(model, values), samples, judging, threads);
    double sum = 0;
    for (size_t i = 0; i < judging.size(); i++) sum += output_distance(exact[i], found[i]);
    return sum;
  };
  std::vector<std::map<std::string, quant::QuantParams>> choices{{}, refined};
  for (const auto& input : model.inputs) refined.erase(input.name);
  if (refined.size() < choices.back().size()) choices.push_back(std::move(refined));
  std::vector<double> errors(choices.size());
  std::ranges::transform(choices, errors.begin(), error);
  return choices[static_cast<size_t>(std::ranges::min_element(errors) - errors.begin())];
}

}  // namespace quasar::tune
