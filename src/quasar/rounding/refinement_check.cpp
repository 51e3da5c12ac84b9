#include "quasar/rounding/refinement_check.hpp"

#include <algorithm>

#include "quasar/base/parallel.hpp"
#include "quasar/rounding/judges.hpp"
#include "quasar/runtime/output_distance.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_samples = 32;

}  // namespace

RefinementCheck::RefinementCheck(const graph::Model& model, const data::DatasetPtr& samples, size_t threads, size_t most_bytes)
    : model_(model),
      judging_(data::subset(samples, spread_over(samples->size(), most_samples))),
      threads_(threads),
      most_bytes_(most_bytes) {}

// Weights stay in float here: ONNX Runtime would quantize them by itself (keep_in_float.hpp).
RefinementCheck::Outputs RefinementCheck::outputs_of(const graph::Model& model) const {
  runtime::SessionOptions options;
  options.disabled_optimizers = "WeightBiasQuantization";
  const runtime::Session session(model, options);
  Outputs out(judging_->size());
  parallel_for(out.size(), threads_, [&](size_t i) { out[i] = session.run(judging_->at(i)); });
  return out;
}

std::shared_ptr<const RefinementCheck::Outputs> RefinementCheck::exact() {
  const std::lock_guard lock(guard_);
  if (exact_ != nullptr) return exact_;
  auto found = std::make_shared<const Outputs>(outputs_of(model_));
  size_t bytes = 0;
  for (const auto& sample : *found) {
    for (const auto& output : sample) bytes += output.bytes().size();
  }
  if (bytes <= most_bytes_) exact_ = found;
  return found;
}

double RefinementCheck::error_of(const graph::Model& quantized) {
  const auto exact = this->exact();
  const Outputs found = outputs_of(quantized);
  double sum = 0;
  for (size_t i = 0; i < found.size(); i++) sum += output_distance((*exact)[i], found[i]);
  return sum;
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
    choice.error = error_of(quant::apply(model_, values));
    const double present = choices.front().error;
    choice.gain = present > 0 ? 1 - choice.error / present : 0;
  }
  return *std::ranges::min_element(choices, {}, &Refined::error);
}

}  // namespace quasar::tune
