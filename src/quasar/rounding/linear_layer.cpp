#include "quasar/rounding/linear_layer.hpp"

#include <algorithm>
#include <numeric>

#include "quasar/base/error.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/quant/codes/scheme.hpp"

namespace quasar::tune {
namespace {

size_t product(const Shape& shape, size_t from) {
  return count_of(Shape(shape.begin() + static_cast<std::ptrdiff_t>(from), shape.end()));
}

// [k, n], or with axes of size 1 before them.
bool is_matrix(const Shape& shape) {
  return shape.size() >= 2 && std::all_of(shape.begin(), shape.end() - 2, [](int64_t size) { return size == 1; });
}

std::optional<LinearLayer> convolution(const graph::Node& node, const Tensor& weights, std::string& why) {
  const Shape& shape = weights.shape();
  const size_t dimensions = shape.size() < 3 ? 0 : shape.size() - 2;
  LinearLayer layer{.node = node.name, .input = node.inputs[0], .output = node.outputs[0], .convolution = true};
  layer.transposed = node.is("ConvTranspose");
  layer.groups = static_cast<size_t>(node.integer("group", 1));
  const auto rows = static_cast<size_t>(shape[0]);
  if (dimensions == 0 || layer.groups == 0 || rows % layer.groups != 0) {
    why = "weights of an unusual shape";
    return std::nullopt;
  }
  layer.outputs = layer.transposed ? static_cast<size_t>(shape[1]) * layer.groups : rows;
  layer.inputs = layer.transposed ? rows / layer.groups * product(shape, 2) : product(shape, 1);
  layer.kernel.assign(shape.begin() + 2, shape.end());
  layer.strides = node.integers("strides", std::vector<int64_t>(dimensions, 1));
  layer.dilations = node.integers("dilations", std::vector<int64_t>(dimensions, 1));
  layer.auto_pad = node.text("auto_pad", "NOTSET");
  layer.pads = node.integers("pads", std::vector<int64_t>(2 * dimensions, 0));
  layer.output_padding = node.integers("output_padding", std::vector<int64_t>(dimensions, 0));
  layer.pads_follow = layer.transposed && (!node.integers("output_shape", {}).empty() || layer.auto_pad.starts_with("SAME"));
  return layer;
}

// Of ConvTranspose. Where it follows from the output's size, the larger half comes first, but for SAME_UPPER.
int64_t leading_pad_of_transposed(const LinearLayer& layer, size_t d, int64_t input, int64_t output) {
  if (!layer.pads_follow) return layer.auto_pad == "VALID" ? 0 : layer.pads[d];
  const int64_t reach = (layer.kernel[d] - 1) * layer.dilations[d] + 1;
  const int64_t total = std::max<int64_t>((input - 1) * layer.strides[d] + layer.output_padding[d] + reach - output, 0);
  return layer.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
}

// The padding before the first element of spatial dimension d.
int64_t leading_pad(const LinearLayer& layer, size_t d, int64_t input, int64_t output) {
  if (layer.transposed) return leading_pad_of_transposed(layer, d, input, output);
  if (layer.auto_pad == "VALID") return 0;
  if (layer.auto_pad == "NOTSET" || layer.auto_pad.empty()) return layer.pads[d];
  const int64_t reach = (layer.kernel[d] - 1) * layer.dilations[d] + 1;
  const int64_t total = std::max<int64_t>((output - 1) * layer.strides[d] + reach - input, 0);
  return layer.auto_pad == "SAME_LOWER" ? total - total / 2 : total / 2;
}

// Where a kernel element meets the input, per position: offset within sample and channel plane, −1 in the padding.
class Taps {
 public:
  Taps(const LinearLayer& layer, const Shape& input, const Shape& output, std::span<const uint32_t> positions)
      : layer_(layer), input_(input), dimensions_(layer.kernel.size()), corners_(positions.size() * dimensions_) {
    std::vector<int64_t> pads;
    for (size_t d = 0; d < dimensions_; d++) pads.push_back(leading_pad(layer, d, input[d + 2], output[d + 2]));
    const size_t plane = product(output, 2), sample = product(input, 1);
    for (size_t p = 0; p < positions.size(); p++) {
      batch_.push_back(static_cast<int64_t>(positions[p] / plane * sample));
      size_t rest = positions[p] % plane;
      for (size_t d = dimensions_; d-- > 0;) {
        const auto size = static_cast<size_t>(output[d + 2]);
        const auto at = static_cast<int64_t>(rest % size);
        corners_[p * dimensions_ + d] = layer.transposed ? at + pads[d] : at * layer.strides[d] - pads[d];
        rest /= size;
      }
    }
  }

  void offsets(size_t tap, std::vector<int64_t>& out) const {
    std::vector<int64_t> shift(dimensions_);
    for (size_t d = dimensions_; d-- > 0;) {
      const auto size = static_cast<size_t>(layer_.kernel[d]);
      shift[d] = static_cast<int64_t>(tap % size) * layer_.dilations[d];
      tap /= size;
    }
    out.resize(batch_.size());
    for (size_t p = 0; p < batch_.size(); p++) out[p] = offset(p, shift);
  }

 private:
  int64_t offset(size_t position, const std::vector<int64_t>& shift) const {
    int64_t at = 0;
    for (size_t d = 0; d < dimensions_; d++) {
      int64_t x = corners_[position * dimensions_ + d];
      if (layer_.transposed) {  // output = stride · input + shift − pad
        x -= shift[d];
        if (x < 0 || x % layer_.strides[d] != 0) return -1;
        x /= layer_.strides[d];
      } else {
        x += shift[d];
      }
      if (x < 0 || x >= input_[d + 2]) return -1;
      at = at * input_[d + 2] + x;
    }
    return batch_[position] + at;
  }

  const LinearLayer& layer_;
  const Shape& input_;
  size_t dimensions_;
  std::vector<int64_t> corners_;  // [positions, dimensions]
  std::vector<int64_t> batch_;    // offset of the position's sample
};

template <class Code>
void gather_convolution(const LinearLayer& layer, const Tensor& input, const Shape& output, const Decoding& decoding,
                        std::span<const uint32_t> positions, float* to, size_t stride) {
  const Shape& shape = input.shape();
  const Taps taps(layer, shape, output, positions);
  const size_t plane = product(shape, 2), channels = static_cast<size_t>(shape[1]);
  const size_t kernel = layer.taps();
  const Code* const values = input.as<Code>().data();
  std::vector<int64_t> offsets;
  for (size_t tap = 0; tap < kernel; tap++) {
    taps.offsets(tap, offsets);
    for (size_t channel = 0; channel < channels; channel++) {
      const Code* const from = values + channel * plane;
      float* const row = to + (channel * kernel + tap) * stride;
      for (size_t p = 0; p < positions.size(); p++) {
        if constexpr (std::is_same_v<Code, float>) {
          row[p] = offsets[p] < 0 ? 0.0F : from[offsets[p]];
        } else {
          row[p] = offsets[p] < 0 ? 0.0F : decoding.scale * static_cast<float>(from[offsets[p]] - decoding.zero_point);
        }
      }
    }
  }
}

template <class Code>
void gather_matrix(const LinearLayer& layer, const Tensor& input, const Decoding& decoding, std::span<const uint32_t> positions,
                   float* to, size_t stride) {
  const Code* const values = input.as<Code>().data();
  if (!positions.empty() && (positions.back() + size_t{1}) * layer.inputs > input.count())
    throw Error(layer.node + ": quantization changes how many rows it gets, so that it cannot be rounded");
  for (size_t p = 0; p < positions.size(); p++) {
    const Code* const from = values + positions[p] * layer.inputs;
    for (size_t i = 0; i < layer.inputs; i++) {
      if constexpr (std::is_same_v<Code, float>) {
        to[i * stride + p] = from[i];
      } else {
        to[i * stride + p] = decoding.scale * static_cast<float>(from[i] - decoding.zero_point);
      }
    }
  }
}

template <class Code>
void gather(const LinearLayer& layer, const Tensor& input, const Decoding& decoding, const Shape& output,
            std::span<const uint32_t> positions, float* to, size_t stride) {
  if (layer.convolution) {
    gather_convolution<Code>(layer, input, output, decoding, positions, to, stride);
  } else {
    gather_matrix<Code>(layer, input, decoding, positions, to, stride);
  }
}

}  // namespace

size_t LinearLayer::taps() const {
  return static_cast<size_t>(std::accumulate(kernel.begin(), kernel.end(), int64_t{1}, std::multiplies<>()));
}

std::optional<LinearLayer> linear_layer(const graph::Node& node, const graph::Model& model, std::string& why) {
  const Tensor* weights = node.inputs.size() > 1 ? model.initializer(node.inputs[1]) : nullptr;
  if (weights == nullptr || weights->type() != DataType::float32) {
    why = "weights are not constant";
    return std::nullopt;
  }
  std::optional<LinearLayer> layer;
  if (node.is("Conv") || node.is("ConvTranspose")) {
    layer = convolution(node, *weights, why);
  } else if ((node.is("Gemm") && node.integer("transA", 0) == 0) || (node.is("MatMul") && is_matrix(weights->shape()))) {
    layer = LinearLayer{.node = node.name, .input = node.inputs[0], .output = node.outputs[0]};
    layer->columns_first = node.integer("transB", 0) == 0;
    const Shape matrix(weights->shape().end() - 2, weights->shape().end());
    layer->outputs = static_cast<size_t>(matrix[layer->columns_first ? 1 : 0]);
    layer->inputs = static_cast<size_t>(matrix[layer->columns_first ? 0 : 1]);
  } else {
    why = "its weights keep nearest rounding: only Conv, ConvTranspose, Gemm and MatMul with a matrix of weights are optimized";
  }
  if (layer && node.inputs.size() > 2 && !node.inputs[2].empty()) layer->bias_input = 2;
  return layer;
}

const Tensor* constant_of(const LinearLayer& layer, const graph::Model& model, std::optional<size_t> input) {
  if (!input) return nullptr;
  return model.initializer(std::ranges::find(model.nodes, layer.node, &graph::Node::name)->inputs[*input]);
}

std::vector<uint32_t> choose_positions(const LinearLayer& layer, const Shape& output, size_t most, uint64_t seed) {
  const size_t total = count_of(output) / layer.outputs;
  std::vector<uint32_t> out(std::min(total, most));
  if (total <= most) {
    std::iota(out.begin(), out.end(), 0U);
    return out;
  }
  Rng rng(seed);
  const double part = static_cast<double>(total) / static_cast<double>(most);
  for (size_t i = 0; i < most; i++) {
    const auto at = static_cast<size_t>((static_cast<double>(i) + rng.uniform()) * part);
    out[i] = static_cast<uint32_t>(std::min(at, total - 1));
  }
  return out;
}

void gather_outputs(const LinearLayer& layer, const Tensor& output, std::span<const uint32_t> positions, float* to,
                    size_t stride) {
  const float* const values = output.as<float>().data();
  const size_t plane = layer.convolution ? product(output.shape(), 2) : 1;
  for (size_t p = 0; p < positions.size(); p++) {
    const float* const from = values + positions[p] / plane * plane * layer.outputs + positions[p] % plane;
    for (size_t o = 0; o < layer.outputs; o++) to[o * stride + p] = from[o * plane];
  }
}

void gather_inputs(const LinearLayer& layer, const Tensor& input, const Decoding& decoding, const Shape& output,
                   std::span<const uint32_t> positions, float* to, size_t stride) {
  switch (input.type()) {
    case DataType::float32:
      return gather<float>(layer, input, decoding, output, positions, to, stride);
    case DataType::uint8:
      return gather<uint8_t>(layer, input, decoding, output, positions, to, stride);
    case DataType::int8:
      return gather<int8_t>(layer, input, decoding, output, positions, to, stride);
    case DataType::uint16:
      return gather<uint16_t>(layer, input, decoding, output, positions, to, stride);
    case DataType::int16:
      return gather<int16_t>(layer, input, decoding, output, positions, to, stride);
    case DataType::int4:
    case DataType::uint4: {
      const std::vector<int32_t> codes = quant::plain_codes(input);
      return gather<int8_t>(layer, quant::codes_tensor(DataType::int8, input.shape(), codes), decoding, output, positions, to,
                            stride);
    }
    default:
      throw Error("inputs of type " + std::string(name_of(input.type())) + " of " + layer.node + " are not yet supported");
  }
}

}  // namespace quasar::tune
