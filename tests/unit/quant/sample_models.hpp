// Small models with random weights, one per pattern that quantization must get right.
#pragma once

#include <functional>
#include <map>
#include <random>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Writes a model node by node; the operator's name and a number name nodes and values ("Conv_0", its output "Conv_0_out").
class Builder {
 public:
  explicit Builder(uint32_t seed = 1) : random_(seed) { model_.opsets = {{"", 13}}; }

  std::string input(const std::string& name, const Shape& shape, DataType type = DataType::float32) {
    model_.inputs.push_back({name, type, shape, std::vector<std::string>(shape.size())});
    return name;
  }

  // Normally distributed values.
  std::string weights(const Shape& shape, float deviation = 0.3F, float mean = 0) {
    std::normal_distribution<float> normal(mean, deviation);
    std::vector<float> values(count_of(shape));
    for (auto& value : values) value = normal(random_);
    return constant(Tensor::of(shape, values));
  }

  std::string constant(const Tensor& tensor) {
    const std::string name = "constant_" + std::to_string(model_.initializers.size());
    model_.initializers[name] = tensor;
    return name;
  }

  std::string node(const std::string& type, std::vector<std::string> inputs, std::vector<graph::Attribute> attributes = {},
                   size_t outputs = 1) {
    graph::Node node{.name = type + "_" + std::to_string(counts_[type]++),
                     .op_type = type,
                     .domain = "",
                     .inputs = std::move(inputs),
                     .outputs = {}};
    node.attributes = std::move(attributes);
    node.outputs.push_back(node.name + "_out");
    for (size_t k = 1; k < outputs; k++) node.outputs.push_back(node.name + "_out" + std::to_string(k));
    model_.nodes.push_back(node);
    return node.outputs.front();
  }

  // [in] -> [out] channels, 2-D, square kernel, same size; depthwise when group == in.
  std::string conv(const std::string& input, int64_t in, int64_t out, int64_t kernel, int64_t group = 1) {
    const int64_t pad = kernel / 2;
    return node("Conv", {input, weights({out, in / group, kernel, kernel}, 0.4F), weights({out}, 0.2F)},
                {{"group", group}, {"pads", std::vector<int64_t>{pad, pad, pad, pad}}});
  }

  std::string clip(const std::string& input, float low, float high) {
    return node("Clip", {input, constant(Tensor::scalar(low)), constant(Tensor::scalar(high))});
  }

  graph::Model finish(const std::vector<std::string>& outputs) {
    for (const auto& name : outputs) model_.outputs.push_back({name, DataType::float32, std::nullopt, {}});
    return model_;
  }

  graph::Model& model() { return model_; }

 private:
  graph::Model model_;
  std::map<std::string, int> counts_;
  std::mt19937 random_;
};

// Conv, Clip, depthwise Conv, Relu, pooling, Reshape, Gemm, Softmax: the demo's shape.
inline graph::Model separable(uint32_t seed = 1) {
  Builder b(seed);
  const auto stem = b.clip(b.conv(b.input("x", {1, 3, 12, 12}), 3, 8, 3), 0, 6);
  const auto depthwise = b.node("Relu", {b.conv(stem, 8, 8, 3, 8)});
  const auto pooled = b.node("GlobalAveragePool", {b.conv(depthwise, 8, 12, 1)});
  const auto flat = b.node("Reshape", {pooled, b.constant(Tensor::of<int64_t>({2}, {1, 12}))});
  const auto logits = b.node("Gemm", {flat, b.weights({10, 12}), b.weights({10})}, {{"transB", int64_t{1}}});
  return b.finish({b.node("Softmax", {logits}, {{"axis", int64_t{-1}}})});
}

// A residual sum with Relu behind it; the block's input is read twice.
inline graph::Model residual(uint32_t seed = 2) {
  Builder b(seed);
  const auto stem = b.node("Relu", {b.conv(b.input("x", {1, 3, 10, 10}), 3, 8, 3)});
  const auto branch = b.conv(b.node("Relu", {b.conv(stem, 8, 8, 3)}), 8, 8, 3);
  const auto sum = b.node("Relu", {b.node("Add", {branch, stem})});
  const auto scaled = b.node("Mul", {sum, b.weights({1, 8, 1, 1}, 0.2F, 1)});
  return b.finish({b.node("AveragePool", {scaled}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}), sum});
}

// Branches that meet in Concat, max pooling, a split, a transpose and a nearest-neighbour Resize.
inline graph::Model branches(uint32_t seed = 3) {
  Builder b(seed);
  const auto stem = b.conv(b.input("x", {1, 4, 8, 8}), 4, 8, 3);
  const auto pooled =
      b.node("MaxPool", {stem}, {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}});
  const auto left = b.node("LeakyRelu", {b.conv(pooled, 8, 6, 1)}, {{"alpha", 0.1F}});
  const auto right = b.node("Sigmoid", {b.conv(pooled, 8, 10, 3)});
  const auto both = b.node("Concat", {left, right}, {{"axis", int64_t{1}}});
  b.node("Split", {both}, {{"axis", int64_t{1}}}, 2);
  const auto large = b.node("Resize", {"Split_0_out1", "", b.constant(Tensor::of<float>({4}, {1, 1, 2, 2}))},
                            {{"mode", std::string("nearest")}});
  const auto moved = b.node("Transpose", {b.conv(large, 8, 5, 1)}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  return b.finish({moved, "Split_0_out"});
}

// softmax(q·kᵀ)·v with projections as MatMul + Add.
inline graph::Model attention(uint32_t seed = 4) {
  Builder b(seed);
  const auto x = b.input("x", {1, 6, 16});
  const auto project = [&] { return b.node("Add", {b.node("MatMul", {x, b.weights({16, 16})}), b.weights({16}, 0.1F)}); };
  const auto query = project(), key = project(), value = project();
  const auto keys = b.node("Transpose", {key}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const auto scores = b.node("Mul", {b.node("MatMul", {query, keys}), b.constant(Tensor::scalar(0.25F))});
  const auto mixed = b.node("MatMul", {b.node("Softmax", {scores}, {{"axis", int64_t{-1}}}), value});
  return b.finish({b.node("Add", {b.weights({1, 6, 16}), mixed})});
}

// A recurrent layer that stays in float between layers that do not, and a Conv whose channels partly vanish.
inline graph::Model recurrent(uint32_t seed = 5) {
  Builder b(seed);
  const auto before = b.node("MatMul", {b.input("x", {4, 1, 6}), b.weights({6, 5})});
  const auto states = b.node("LSTM", {before, b.weights({1, 12, 5}), b.weights({1, 12, 3})}, {{"hidden_size", int64_t{3}}});
  const auto flat = b.node("Reshape", {states, b.constant(Tensor::of<int64_t>({2}, {4, 3}))});
  return b.finish({b.node("Gemm", {flat, b.weights({3, 7}), b.weights({1, 7})})});
}

// An Add between operators that need all of its pairs, and a second one whose result the graph gives.
inline graph::Model sums() {
  Builder b;
  const auto stem = b.node("Relu", {b.conv(b.input("x", {1, 3, 10, 10}), 3, 8, 3)});
  const auto sum = b.node("Add", {b.conv(stem, 8, 8, 3), stem});
  return b.finish({b.node("Add", {b.conv(sum, 8, 8, 3), sum})});
}

// How often each operator stands in the model.
inline std::map<std::string, int> operators(const graph::Model& model) {
  std::map<std::string, int> out;
  for (const auto& node : model.nodes) out[node.op_type]++;
  return out;
}

}  // namespace quasar::quant
