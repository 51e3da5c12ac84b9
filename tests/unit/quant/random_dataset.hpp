// Samples for any model, the same every time.
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Normally distributed values; sizes that are open are 1.
class RandomSamples final : public data::Dataset {
 public:
  explicit RandomSamples(const graph::Model& model) : inputs_(model.inputs) {}
  size_t size() const override { return 6; }
  data::Sample at(size_t index) const override {
    std::mt19937 random(static_cast<uint32_t>(index + 1));
    std::normal_distribution<float> normal(0.3F, 1);
    data::Sample out;
    for (const auto& input : inputs_) {
      Shape shape = *input.shape;
      for (auto& size : shape) size = std::max<int64_t>(size, 1);
      std::vector<float> values(count_of(shape));
      for (auto& value : values) value = normal(random);
      out.push_back(Tensor::of(shape, values));
    }
    return out;
  }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "test"; }

 private:
  std::vector<graph::Value> inputs_;
};

}  // namespace quasar::quant
