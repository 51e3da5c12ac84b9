// Convolutions and matrix products seen as Y = W X: what rounding must know of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::tune {

// y [outputs] = W [outputs, inputs] x [inputs] at every position (a pixel, a row of the matrix); with groups, output o reads the
// inputs of its group.
struct LinearLayer {
  std::string node, input, output;  // value names of the float model
  size_t weight_input = 1;
  std::optional<size_t> bias_input = {};
  size_t groups = 1, outputs = 0, inputs = 0;  // all outputs; inputs of one group
  bool columns_first = false;                  // weights are stored [inputs, outputs]
  bool convolution = false;
  bool transposed = false;  // ConvTranspose: weights are stored [input channels, outputs of a group, kernel]
  std::vector<int64_t> kernel = {}, strides = {}, dilations = {}, pads = {};  // pads: begins, then ends; empty with auto_pad
  std::vector<int64_t> output_padding = {};                                   // transposed
  bool pads_follow = false;  // transposed: from the size of the output, as output_shape and auto_pad SAME_… ask
  std::string auto_pad = {};

  size_t group_outputs() const { return outputs / groups; }
  size_t taps() const;  // elements of the kernel; 1 for matrices

  // Where the weight of output o for input i of its group is stored.
  size_t stored_at(size_t o, size_t i) const {
    if (transposed) {
      const size_t size = taps(), channel = o / group_outputs() * (inputs / size) + i / size;
      return (channel * group_outputs() + o % group_outputs()) * size + i % size;
    }
    return columns_first ? i * outputs + o : o * inputs + i;
  }
};

// Conv, ConvTranspose, Gemm (without transA) and MatMul with a constant matrix on the right, [k, n] or [1, …, k, n]. nullopt for
// others, `why` says it in words.
std::optional<LinearLayer> linear_layer(const graph::Node& node, const graph::Model& model, std::string& why);

// The constant that the layer reads at an input; nullptr: it has no such input, or it is not constant.
const Tensor* constant_of(const LinearLayer& layer, const graph::Model& model, std::optional<size_t> input);

// Weights as rows [outputs, inputs], and back into the layer's own order.
template <class T>
std::vector<T> as_rows(const LinearLayer& layer, std::span<const T> stored) {
  std::vector<T> rows(stored.begin(), stored.end());
  if (!layer.columns_first && !layer.transposed) return rows;
  for (size_t o = 0; o < layer.outputs; o++) {
    for (size_t i = 0; i < layer.inputs; i++) rows[o * layer.inputs + i] = stored[layer.stored_at(o, i)];
  }
  return rows;
}
template <class T>
std::vector<T> as_stored(const LinearLayer& layer, std::span<const T> rows) {
  std::vector<T> stored(rows.begin(), rows.end());
  if (!layer.columns_first && !layer.transposed) return stored;
  for (size_t o = 0; o < layer.outputs; o++) {
    for (size_t i = 0; i < layer.inputs; i++) stored[layer.stored_at(o, i)] = rows[o * layer.inputs + i];
  }
  return stored;
}

// Positions of an output, spread evenly: all of them, or `most` drawn one from each of as many equal parts by a generator with
// this seed.
std::vector<uint32_t> choose_positions(const LinearLayer& layer, const Shape& output, size_t most, uint64_t seed);

// The layer's outputs at the positions: to[o · stride + p].
void gather_outputs(const LinearLayer& layer, const Tensor& output, std::span<const uint32_t> positions, float* to,
                    size_t stride);

// What the codes of a value mean: value = scale · (code − zero point); floats (a zero scale) are taken as they are.
struct Decoding {
  float scale = 0;
  int32_t zero_point = 0;
};

// The layer's inputs at the positions: to[i · stride + p], i over groups and their inputs. `input`: float32, or codes of 4, 8 or
// 16 bits. `output`: the shape of the layer's output.
void gather_inputs(const LinearLayer& layer, const Tensor& input, const Decoding& decoding, const Shape& output,
                   std::span<const uint32_t> positions, float* to, size_t stride);

}  // namespace quasar::tune
