// A model with everything that the options of NPUs change, and statistics that break every limit.
#pragma once

#include "made_up_statistics.hpp"
#include "sample_models.hpp"

namespace quasar::quant {

// Conv with each activation, both kinds of swish gates, pooling, Concat, Slice, sums, products of activations.
inline graph::Model patchwork() {
  Builder b(7);
  const auto x = b.input("x", {1, 4, 9, 9});
  const auto relu = b.node("Relu", {b.conv(x, 4, 4, 3)});
  const auto clip = b.clip(b.conv(relu, 4, 4, 3), 0, 6);
  const auto leaky = b.node("LeakyRelu", {b.conv(clip, 4, 4, 1)}, {{"alpha", 0.1F}});
  const auto prelu = b.node("PRelu", {b.conv(leaky, 4, 4, 1), b.weights({4, 1, 1})});
  const auto gelu = b.node("Gelu", {b.conv(prelu, 4, 4, 1)});
  const auto odd = b.clip(b.conv(gelu, 4, 4, 1), -1.5F, 2.4F);
  const auto swish = b.node("Mul", {odd, b.node("Sigmoid", {odd})});
  const auto gate = b.node("HardSigmoid", {swish}, {{"alpha", 1.0F / 6}});
  const auto sum = b.node("Add", {b.node("Mul", {swish, gate}), relu});
  const auto shifted = b.node("Add", {sum, b.weights({1, 4, 1, 1})});
  const auto pooled = b.node("AveragePool", {shifted},
                             {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  const auto both = b.node("Concat", {pooled, b.conv(shifted, 4, 2, 1)}, {{"axis", int64_t{1}}});
  const auto part = b.node("Slice", {both, b.constant(Tensor::of<int64_t>({1}, {0})), b.constant(Tensor::of<int64_t>({1}, {4})),
                                     b.constant(Tensor::of<int64_t>({1}, {1}))});
  const auto mean = b.node("ReduceMean", {part}, {{"axes", std::vector<int64_t>{2, 3}}, {"keepdims", int64_t{1}}});
  const auto global = b.node("GlobalAveragePool", {part});
  const auto flat = b.node("Reshape", {b.node("Sub", {global, mean}), b.constant(Tensor::of<int64_t>({2}, {1, 4}))});
  const auto column = b.node("Reshape", {mean, b.constant(Tensor::of<int64_t>({2}, {4, 1}))});
  const auto product = b.node("MatMul", {column, flat});
  const auto floats = b.node("Flatten", {b.node("Exp", {x})});  // moved, but computed in float
  return b.finish({product, floats});
}

// Ranges from 2^−24 to 2^24, and shapes where a factor depends on them.
inline stats::Statistics wild_statistics(const graph::Model& model, uint32_t seed = 3) {
  std::mt19937 random(seed);
  stats::Statistics out = made_up_statistics(model);
  for (auto& [value, seen] : out) {
    const float width = std::exp2(static_cast<float>(random() % 49) - 24.0F);
    seen = stats::of_values(std::vector<float>{seen.range.low < 0 ? -width : 0, width / 3, width}, {.histogram = true});
    seen.shape = {1, 4, 9, 9};
  }
  return out;
}

inline Config xint8_config(const Json& options = Json::object()) {
  Json words = schemes::table().make("xint8")->words();
  words.update(options);
  return parse_config(words);
}

inline Plan npu_plan(const graph::Model& model, const Json& options = Json::object(), uint32_t seed = 0) {
  const stats::Statistics seen = seed == 0 ? made_up_statistics(model) : wild_statistics(model, seed);
  return resolve(model, seen, xint8_config(options), *targets::table().make("xint8"));
}

}  // namespace quasar::quant
