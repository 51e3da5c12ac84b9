#include "quasar/eval/flattened.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval {

OutputWeights::OutputWeights(const Json& words, const std::vector<graph::Value>& outputs) {
  if (words.is_null()) return;
  std::vector<std::string> names;
  for (const auto& output : outputs) names.push_back(output.name);
  if (!words.is_object()) throw Error("output_weights is " + words.dump() + ", but must be a mapping {output: factor}");
  factors_.assign(outputs.size(), 1);
  for (const auto& [name, factor] : words.items()) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      throw Error("output_weights names '" + name + "', which is no output of the model; its outputs: " + joined(names) +
                  did_you_mean(name, names));
    }
    if (!factor.is_number() || !std::isfinite(factor.get<double>()) || factor < 0)
      throw Error("output_weights: the factor of '" + name + "' is " + factor.dump() + ", but must be a number of at least 0");
    factors_[static_cast<size_t>(found - names.begin())] = factor.get<float>();
  }
  if (std::ranges::count(factors_, 0.0F) == std::ssize(factors_)) throw Error("output_weights leaves no output: all are 0");
}

std::vector<Tensor> first_of(std::vector<Tensor> outputs, int64_t repeats) {
  for (Tensor& output : outputs) {
    Shape shape = output.shape();
    if (repeats == 1 || shape.empty() || shape.front() != repeats || output.type() == DataType::string) continue;
    shape.front() = 1;
    const auto whole = std::make_shared<const Tensor>(output);
    output = Tensor(whole->type(), std::move(shape), whole, whole->bytes().data());
  }
  return outputs;
}

Flattened::Flattened(std::vector<Tensor> outputs, const std::vector<graph::Value>& names, const OutputWeights& weights) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const float weight = weights.of(i);
    if (weight == 0) continue;
    if (outputs[i].type() == DataType::string || outputs[i].type() == DataType::undefined) {
      throw Error("the model's output '" + names[i].name + "' holds no numbers and cannot be scored; output_weights: {'" +
                  names[i].name + "': 0} leaves it out");
    }
    Tensor output = outputs[i].type() == DataType::float32 ? std::move(outputs[i]) : converted(outputs[i], DataType::float32);
    if (weight != 1) {
      std::vector<float> values(output.as<float>().begin(), output.as<float>().end());
      for (float& value : values) value *= weight;
      output = Tensor::of<float>(output.shape(), values);
    }
    outputs_.push_back(std::move(output));
  }
  if (outputs_.size() == 1) return;
  for (const auto& output : outputs_) joined_.insert(joined_.end(), output.as<float>().begin(), output.as<float>().end());
}

int32_t Flattened::answer() const {
  if (outputs_.size() != 1 || outputs_[0].count() < 2) return -1;
  const auto& shape = outputs_[0].shape();
  const bool vector = std::ranges::find(shape, static_cast<int64_t>(outputs_[0].count())) != shape.end();
  return vector ? static_cast<int32_t>(arg_max(values())) : -1;
}

std::vector<Shape> Flattened::shapes() const {
  std::vector<Shape> out;
  for (const auto& output : outputs_) out.push_back(output.shape());
  return out;
}

}  // namespace quasar::eval
