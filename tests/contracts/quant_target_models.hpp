// Models for the rules of targets: the patterns in which a rule is easily broken.
#pragma once

#include "quasar/runtime/prepare.hpp"
#include "unit/quant/made_up_statistics.hpp"
#include "unit/quant/sample_models.hpp"

namespace quasar::quant::test_models {

// A function with an activation behind it, between convolutions.
inline graph::Model curve_and_activation(const std::string& curve, const std::string& activation) {
  Builder b;
  const auto curved = b.node(curve, {b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3)});
  const auto clipped = activation == "Clip" ? b.clip(curved, 0.1F, 0.9F) : b.node(activation, {curved});
  return b.finish({b.conv(clipped, 16, 16, 3)});
}

// x · sigmoid(x), and the gate of a squeeze-excitation.
inline graph::Model gates() {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3);
  const auto silu = b.node("Mul", {first, b.node("Sigmoid", {first})});
  const auto second = b.conv(silu, 16, 16, 3);
  const auto gate = b.node("Sigmoid", {b.conv(b.node("GlobalAveragePool", {second}), 16, 16, 1)});
  return b.finish({b.conv(b.node("Mul", {second, gate}), 16, 16, 3)});
}

inline graph::Model embedding() {
  Builder b;
  const auto ids = b.input("ids", {1, 6}, DataType::int64);
  const auto rows = b.node("Gather", {b.weights({20, 16}), ids}, {{"axis", int64_t{0}}});
  return b.finish({b.node("MatMul", {rows, b.weights({16, 16})})});
}

// Two products with weights, of values with so many axes.
inline graph::Model product_of_axes(size_t axes) {
  Builder b;
  Shape shape(axes, 2);
  shape.back() = 16;
  const auto first = b.node("MatMul", {b.input("x", shape), b.weights({16, 16})});
  return b.finish({b.node("MatMul", {first, b.weights({16, 16})})});
}

// Clip(min = 0) without a maximum.
inline graph::Model clip_from_zero() {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3);
  return b.finish({b.conv(b.node("Clip", {first, b.constant(Tensor::scalar(0.0F))}), 16, 16, 3)});
}

// Both terms are read by convolutions as well, the sum by a function only.
inline graph::Model sum_for_function() {
  Builder b;
  const auto stem = b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3);
  const auto left = b.conv(stem, 16, 16, 3), right = b.conv(stem, 16, 16, 3);
  const auto sum = b.node("Exp", {b.node("Add", {left, right})});
  return b.finish({sum, b.conv(left, 16, 16, 3), b.conv(right, 16, 16, 3)});
}

inline graph::Model joined_branches() {
  Builder b;
  const auto stem = b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3);
  const auto left = b.node("Relu", {b.conv(stem, 16, 16, 3)}), right = b.conv(stem, 16, 16, 3);
  return b.finish({b.conv(b.node("Concat", {left, right}, {{"axis", int64_t{1}}}), 32, 16, 3)});
}

// A convolution too small for some targets beside one that is not, both of the same value.
inline graph::Model small_beside_large() {
  Builder b;
  const auto stem = b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3);
  return b.finish({b.conv(stem, 16, 16, 3), b.conv(stem, 16, 3, 3)});
}

inline std::map<std::string, graph::Model> all() {
  return {{"separable", separable()},
          {"residual", residual()},
          {"branches", branches()},
          {"attention", attention()},
          {"sigmoid and Clip", curve_and_activation("Sigmoid", "Clip")},
          {"sigmoid and Relu", curve_and_activation("Sigmoid", "Relu")},
          {"tanh and Clip", curve_and_activation("Tanh", "Clip")},
          {"gates", gates()},
          {"embedding", embedding()},
          {"product of 5 axes", product_of_axes(5)},
          {"Clip from zero", clip_from_zero()},
          {"sum for a function", sum_for_function()},
          {"joined branches", joined_branches()},
          {"small beside large", small_beside_large()}};
}

// Made-up ranges, with the shapes that samples tell.
inline graph::Model quantized(const graph::Model& model, const Config& config, const Target& target) {
  stats::Statistics seen = made_up_statistics(model);
  const auto known = runtime::value_types(model);
  for (auto& [value, one] : seen) {
    if (const auto found = known.find(value); found != known.end() && found->second.shape) one.shape = *found->second.shape;
  }
  return written(model, resolve(model, seen, config, target));
}

// What the model breaks of the target's rules, in words, without what is said of the node that was excluded.
inline std::vector<std::string> broken(const graph::Model& made, const Target& target, const std::string& excluded = "") {
  std::vector<std::string> out;
  for (const auto& [node, fault] : target.faults(made, runtime::value_types(made))) {
    if (node != excluded) out.push_back(node + " " + fault.rule + ": " + fault.what);
  }
  return out;
}

}  // namespace quasar::quant::test_models
