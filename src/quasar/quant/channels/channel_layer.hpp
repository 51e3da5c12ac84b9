// Layers with constant weights, seen by channels: what scaling a channel of a layer's input or output does to its weights.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// Conv, ConvTranspose, Gemm (without transA) and MatMul with a matrix of finite float32 constants.
struct ChannelLayer {
  std::string node;
  size_t outputs = 0, inputs = 0;   // channels
  bool depthwise = false;           // output channel c reads input channel c and nothing else
  int axis = -1;                    // of the channels in the layer's input and output: 1, or the last
  std::optional<size_t> bias = {};  // input that holds one value per output channel, along its last axis

  // Calls use(i, output, input) for every weight i, in memory order: the channels that it connects.
  template <class Use>
  void for_weights(const Use& use) const {
    const size_t rows = transposed ? inputs : outputs;
    for (size_t row = 0, i = 0; row < rows; row++) {
      const size_t group = transposed ? row / group_inputs : row / group_outputs;
      for (size_t other = group * per_row; other < (group + 1) * per_row; other++) {
        for (size_t end = i + plane; i < end; i++) use(i, transposed ? other : row, transposed ? row : other);
      }
    }
  }

  size_t weights() const { return (transposed ? inputs : outputs) * per_row * plane; }

  // Weights are stored [rows, per_row, plane]; rows are output channels unless `transposed`, per_row those of one group.
  bool transposed = false;
  size_t per_row = 1, plane = 1, group_inputs = 1, group_outputs = 1;
};

// nullopt: the node is no such layer.
std::optional<ChannelLayer> channel_layer(const graph::Node& node, const graph::Model& model);

// A model whose constants change: a constant that others read too gets a copy of its own.
class ConstantEdits {
 public:
  explicit ConstantEdits(const graph::Model& model);
  // The values of a node's constant input (float32), to be changed in place; the same reference every time.
  std::vector<float>& values(const std::string& node, size_t input);
  // Repeats a constant of a single value along a vector of so many.
  void widen(const std::string& node, size_t input, size_t count);
  // The model with all changes.
  graph::Model finish() &&;

 private:
  struct Edit {
    std::string node;
    size_t input;
    Shape shape;
    std::vector<float> values;
  };
  const graph::Model& model_;
  std::vector<std::unique_ptr<Edit>> edits_;
};

}  // namespace quasar::quant
