// Graphs that end as exporters let the heads of known families end, with random weights, for tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::test {

// A graph that grows behind its input; values are named by number.
class Sketch {
 public:
  explicit Sketch(graph::Value input) : model_(empty_model()) { model_.inputs = {std::move(input)}; }

  std::string constant(Tensor tensor) {
    const std::string name = "c" + std::to_string(++count_);
    model_.initializers[name] = std::move(tensor);
    return name;
  }
  std::string constant(std::vector<int64_t> values) { return constant(longs(values)); }
  std::string random(Shape shape, double low = -1, double high = 1) {
    return constant(random_tensor(std::move(shape), static_cast<uint64_t>(count_) + 1, low, high));
  }

  std::vector<std::string> ops(const std::string& type, std::vector<std::string> inputs, size_t outputs,
                               std::vector<graph::Attribute> attributes = {}) {
    std::vector<std::string> names;
    for (size_t i = 0; i < outputs; ++i) names.push_back("v" + std::to_string(++count_));
    model_.nodes.push_back(node(type, "n" + std::to_string(count_), std::move(inputs), names, std::move(attributes)));
    return names;
  }
  std::string op(const std::string& type, std::vector<std::string> inputs, std::vector<graph::Attribute> attributes = {}) {
    return ops(type, std::move(inputs), 1, std::move(attributes)).front();
  }
  // A kernel as wide as its step: no padding.
  std::string conv(const std::string& from, int64_t in, int64_t out, int64_t step = 1, double low = -0.3, double high = 0.3) {
    return op("Conv", {from, random({out, in, step, step}, low, high), random({out}, low, high)},
              {{"strides", std::vector<int64_t>{step, step}}});
  }
  std::string reshape(const std::string& from, std::vector<int64_t> shape) {
    return op("Reshape", {from, constant(std::move(shape))});
  }
  std::string transpose(const std::string& from, std::vector<int64_t> order) {
    return op("Transpose", {from}, {{"perm", std::move(order)}});
  }
  std::string concat(std::vector<std::string> parts, int64_t axis) { return op("Concat", std::move(parts), {{"axis", axis}}); }
  std::string softmax(const std::string& from, int64_t axis) { return op("Softmax", {from}, {{"axis", axis}}); }
  std::string times(const std::string& from, float factor) { return op("Mul", {from, constant(Tensor::scalar(factor))}); }
  // x · σ(x), or LeakyRelu.
  std::string silu(const std::string& from) { return op("Mul", {from, op("Sigmoid", {from})}); }

  // Types and shapes of outputs are left to ONNX Runtime, but for whole numbers.
  graph::Model ending_in(const std::vector<std::string>& outputs, DataType type = DataType::float32) {
    for (const auto& name : outputs) model_.outputs.push_back({name, type});
    return std::move(model_);
  }

 private:
  graph::Model model_;
  int count_ = 0;
};

inline constexpr int64_t side = 64;
inline constexpr int64_t cells = 64 + 16 + 4;  // of strides 8, 16 and 32

inline Sketch on_picture(int64_t channels = 3) {
  return Sketch(float_value("x", {1, channels, side, side}));
}

// Features of strides 8, 16 and 32, 8 channels each.
inline std::vector<std::string> pyramid(Sketch& sketch, bool leaky = false) {
  std::vector<std::string> out;
  std::string at = sketch.conv("x", 3, 8, 8);
  for (int i = 0; i < 3; ++i) {
    if (i > 0) at = sketch.conv(out.back(), 8, 8, 2);
    out.push_back(leaky ? sketch.op("LeakyRelu", {at}) : sketch.silu(at));
  }
  return out;
}

// Pictures of random pixels between 0 and 1.
class Noise : public data::Dataset {
 public:
  explicit Noise(size_t size, Shape shape = {1, 3, side, side}) : size_(size), shape_(std::move(shape)) {}
  size_t size() const override { return size_; }
  data::Sample at(size_t i) const override { return {random_tensor(shape_, i + 1, 0, 1)}; }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "noise"; }

 private:
  size_t size_;
  Shape shape_;
};

}  // namespace quasar::test
