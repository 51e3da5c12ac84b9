// x ─MatMul first─ a ─Mul scaled─ b ─MatMul second─ c [1, 1] ─Softmax─ p; c ─Mul late─ d ─Add later─ e ─Sin─ s
//
// On ort_cpu `scaled` is worth quantizing as long as `second` is; `late` and `later` never are, and the Softmax over one element
// cannot be.
#pragma once

#include "quasar/graph/load.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {

inline graph::Model model_of_sums() {
  graph::Model model;
  model.opsets = {{"", 17}};
  model.inputs = {{"x", DataType::float32, Shape{1, 8}}};
  model.outputs = {{"p", DataType::float32, Shape{1, 1}}, {"s", DataType::float32, Shape{1, 1}}};
  std::vector<float> weights(64);
  for (size_t i = 0; i < weights.size(); i++) weights[i] = static_cast<float>(i * i % 17) / 17 - 0.4F;
  model.initializers = {{"w", Tensor::of({8, 8}, weights)},
                        {"v", Tensor::of({8, 1}, std::vector<float>(weights.begin(), weights.begin() + 8))},
                        {"k", Tensor::of({1}, std::vector<float>{0.7F})}};
  model.nodes = {{"first", "MatMul", "", {"x", "w"}, {"a"}},
                 {"scaled", "Mul", "", {"a", "k"}, {"b"}},
                 {"second", "MatMul", "", {"b", "v"}, {"c"}},
                 {"softmax", "Softmax", "", {"c"}, {"p"}},
                 {"late", "Mul", "", {"c", "c"}, {"d"}},
                 {"later", "Add", "", {"d", "k"}, {"e"}},
                 {"wave", "Sin", "", {"e"}, {"s"}}};
  return model;
}

// The words of a search on it; the file stands in the folder.
inline Json words_of_sums(const TemporaryFolder& folder) {
  const auto path = folder.path() / "sums.onnx";
  graph::save(model_of_sums(), path);
  Json words = digits_words();
  words["model_input"] = path.string();
  words["calib_data_reader"] = words["eval_data_reader"] = {{"reader", "random"}, {"count", 4}};
  return words;
}

}  // namespace quasar::tune
