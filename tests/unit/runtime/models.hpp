// Small models for the tests, and the parts they are made of.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/rng.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::test {

inline Tensor random_tensor(Shape shape, uint64_t seed, double low = -1, double high = 1) {
  Rng rng(seed);
  std::vector<float> values(count_of(shape));
  for (auto& v : values) v = static_cast<float>(rng.uniform(low, high));
  return Tensor::of<float>(std::move(shape), values);
}

inline Tensor floats(const std::vector<float>& values) {
  return Tensor::of<float>(Shape{static_cast<int64_t>(values.size())}, values);
}

inline Tensor longs(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values);
}

inline graph::Value float_value(const std::string& name, Shape shape, std::vector<std::string> symbols = {}) {
  return {name, DataType::float32, std::move(shape), std::move(symbols)};
}

inline graph::Node node(const std::string& type, const std::string& name, std::vector<std::string> inputs,
                        std::vector<std::string> outputs, std::vector<graph::Attribute> attributes = {}) {
  graph::Node out;
  out.name = name;
  out.op_type = type;
  out.inputs = std::move(inputs);
  out.outputs = std::move(outputs);
  out.attributes = std::move(attributes);
  return out;
}

inline graph::Model empty_model(int64_t opset = 17) {
  graph::Model model;
  model.opsets = {{"", opset}};
  return model;
}

// x [N,3] -> Relu -> r -> Mul by 2 -> y.
inline graph::Model relu_times_two() {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {-1, 3}, {"N", ""})};
  m.outputs = {float_value("y", {-1, 3}, {"N", ""})};
  m.initializers["two"] = Tensor::scalar(2.0F);
  m.nodes = {node("Relu", "relu", {"x"}, {"r"}), node("Mul", "double", {"r", "two"}, {"y"})};
  return m;
}

// `length` products with a matrix of `size` rows, one after the other: a run that takes its time.
inline graph::Model long_chain(int64_t size, int length) {
  graph::Model m = empty_model();
  m.inputs = {float_value("v0", {size, size})};
  m.initializers["w"] = Tensor::of<float>({size, size}, std::vector<float>(static_cast<size_t>(size * size), 1e-3F));
  for (int i = 0; i < length; ++i) {
    const std::string from = "v" + std::to_string(i), to = "v" + std::to_string(i + 1);
    m.nodes.push_back(node("MatMul", "step" + std::to_string(i), {from, "w"}, {to}));
  }
  m.outputs = {float_value("v" + std::to_string(length), {size, size})};
  return m;
}

// The largest |a - b|, over the largest |a|.
inline double relative_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = to_doubles(a), y = to_doubles(b);
  if (a.shape() != b.shape()) return INFINITY;
  double difference = 0, scale = 1e-30;
  for (size_t i = 0; i < x.size(); ++i) {
    difference = std::max(difference, std::abs(x[i] - y[i]));
    scale = std::max(scale, std::abs(x[i]));
  }
  return difference / scale;
}

// Random values, ones where they are whole numbers; sizes that are not fixed are 2.
inline std::vector<Tensor> inputs_for(const graph::Model& model, uint64_t seed, double low = -1, double high = 1) {
  std::vector<Tensor> out;
  for (const auto& input : model.inputs) {
    Shape shape = *input.shape;
    for (auto& size : shape) size = size < 0 ? 2 : size;
    const bool whole = input.type == DataType::int64;
    out.push_back(whole ? Tensor::of(shape, std::vector<int64_t>(count_of(shape), 1)) : random_tensor(shape, seed++, low, high));
  }
  return out;
}

// Of the two models' outputs; both run as they are, so that kernels differ only where the graphs do.
inline double difference(const graph::Model& a, const graph::Model& b, const std::vector<Tensor>& in) {
  const auto x = runtime::Session(a, {.optimization = runtime::Optimization::none}).run(in);
  const auto y = runtime::Session(b, {.optimization = runtime::Optimization::none}).run(in);
  double worst = x.size() == y.size() ? 0 : INFINITY;
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) worst = std::max(worst, relative_difference(x[i], y[i]));
  return worst;
}

// Protocol-buffer fields by hand, for subgraphs, which Quasar keeps as serialized attributes.
inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7F));
  return out + static_cast<char>(value);
}
inline std::string field(int number, const std::string& bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
inline std::string field(int number, uint64_t value) {
  return varint(static_cast<uint64_t>(number) << 3) + varint(value);
}

// A NodeProto without attributes.
inline std::string node_bytes(const std::string& type, const std::vector<std::string>& inputs, const std::string& output) {
  std::string out;
  for (const auto& input : inputs) out += field(1, input);
  return out + field(2, output) + field(4, type);
}

// A ValueInfoProto of a tensor; an empty shape is a scalar's.
inline std::string value_bytes(const std::string& name, DataType type, const Shape& shape) {
  std::string dims;
  for (const int64_t size : shape) dims += field(1, field(1, static_cast<uint64_t>(size)));
  return field(1, name) + field(2, field(1, field(1, static_cast<uint64_t>(type)) + field(2, dims)));
}

// A graph attribute from NodeProtos and ValueInfoProtos.
inline graph::Attribute subgraph(const std::string& name, const std::vector<std::string>& nodes,
                                 const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  std::string graph;
  for (const auto& n : nodes) graph += field(1, n);
  graph += field(2, name + "_graph");
  for (const auto& i : inputs) graph += field(11, i);
  for (const auto& o : outputs) graph += field(12, o);
  constexpr uint64_t kind_graph = 5;
  return {name, graph::Opaque{std::make_shared<const std::string>(field(1, name) + field(6, graph) + field(20, kind_graph))}};
}

// Products with a matrix of `size` rows, one after the other, 10^15 times.
inline graph::Model endless_loop(int64_t size) {
  graph::Model m = empty_model();
  m.inputs = {float_value("x", {size, size})};
  m.initializers["w"] = Tensor::of<float>({size, size}, std::vector<float>(static_cast<size_t>(size * size), 1e-3F));
  m.initializers["rounds"] = Tensor::scalar(int64_t{1'000'000'000'000'000});
  m.initializers["first"] = Tensor::scalar(true);
  const auto body =
      subgraph("body", {node_bytes("Identity", {"go_on"}, "goes_on"), node_bytes("MatMul", {"v", "w"}, "next")},
               {value_bytes("round", DataType::int64, {}), value_bytes("go_on", DataType::boolean, {}),
                value_bytes("v", DataType::float32, {size, size})},
               {value_bytes("goes_on", DataType::boolean, {}), value_bytes("next", DataType::float32, {size, size})});
  m.nodes.push_back(node("Loop", "loop", {"rounds", "first", "x"}, {"y"}, {body}));
  m.nodes.back().captures = {"w"};
  m.outputs = {float_value("y", {size, size})};
  return m;
}

}  // namespace quasar::test
