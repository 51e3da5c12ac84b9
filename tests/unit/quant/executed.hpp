// Random samples, and what is observed of a model on them.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "quasar/quant/plan.hpp"
#include "quasar/runtime/observed_session.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::quant {

using Samples = std::vector<std::vector<Tensor>>;

inline Samples random_samples(const graph::Model& model, size_t count) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0, 1);
  Samples out(count);
  for (auto& sample : out) {
    for (const auto& input : model.inputs) {
      if (input.type == DataType::boolean) {
        sample.push_back(Tensor::scalar(true));
        continue;
      }
      Shape shape = *input.shape;
      for (auto& size : shape) size = std::max<int64_t>(size, 1);
      std::vector<float> values(count_of(shape));
      for (auto& value : values) value = normal(random);
      sample.push_back(Tensor::of(shape, values));
    }
  }
  return out;
}

inline stats::Statistics observe(const graph::Model& model, const Samples& samples) {
  const auto values = observed_values(model);
  const runtime::ObservedSession session(model, values);
  std::vector<std::vector<float>> seen(values.size());
  for (const auto& sample : samples) {
    std::vector<Tensor> given;
    for (const auto& input : session.inputs()) {
      const auto found = std::ranges::find(model.inputs, input.name, &graph::Value::name);
      given.push_back(sample[static_cast<size_t>(found - model.inputs.begin())]);
    }
    session.run(given, [&](size_t k, const Tensor& tensor) {
      seen[k].insert(seen[k].end(), tensor.as<float>().begin(), tensor.as<float>().end());
    });
  }
  stats::Statistics out;
  for (size_t k = 0; k < values.size(); k++) out[values[k]] = stats::of_values(seen[k], {.histogram = true});
  return out;
}

}  // namespace quasar::quant
