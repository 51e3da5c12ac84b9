// Models of a few nodes, for tests.
#pragma once

#include "quasar/graph/model.hpp"

namespace quasar::graph {

inline Value tensor_value(const std::string& name, Shape shape, DataType type = DataType::float32) {
  return {name, type, shape, std::vector<std::string>(shape.size())};
}

// x [1,3,8,8] -> Conv (3x3, 4 channels) -> Relu -> y
inline Model small_model() {
  Model model;
  model.opsets = {{"", 13}};
  model.inputs = {tensor_value("x", {-1, 3, 8, 8})};
  model.inputs[0].symbols[0] = "batch";
  model.outputs = {tensor_value("y", {-1, 4, 6, 6})};
  std::vector<float> weights(4 * 3 * 3 * 3);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i) * 0.01F - 0.5F;
  model.initializers = {{"w", Tensor::of({4, 3, 3, 3}, weights)}, {"b", Tensor::of<float>({4}, {1, 2, 3, 4})}};
  model.nodes = {{"conv", "Conv", "", {"x", "w", "b"}, {"c"}}, {"relu", "Relu", "", {"c"}, {"y"}}};
  model.nodes[0].set({"kernel_shape", std::vector<int64_t>{3, 3}});
  return model;
}

}  // namespace quasar::graph
