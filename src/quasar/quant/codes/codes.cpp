// Tensors to codes and back.
#include <algorithm>
#include <cmath>
#include <limits>

#include "quasar/base/cpu_dispatch.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {
namespace {

// A tensor seen as [outer, slices, inner], one scale per slice.
struct Slices {
  size_t outer = 1, slices = 1, inner = 1;
};

Slices slices_of(const Shape& shape, const QuantParams& params) {
  const size_t scales = params.scales.size();
  if (params.zero_points.size() != scales || scales == 0) {
    throw Error("quantization parameters: " + std::to_string(scales) + " scales with " +
                std::to_string(params.zero_points.size()) + " zero points");
  }
  if (params.axis < 0) {
    if (scales != 1) throw Error("quantization parameters: " + std::to_string(scales) + " scales, but no axis");
    return {1, 1, count_of(shape)};
  }
  const size_t axis = static_cast<size_t>(params.axis);
  if (axis >= shape.size() || static_cast<size_t>(shape[axis]) != scales) {
    throw Error("quantization parameters: " + std::to_string(scales) + " scales along axis " + std::to_string(axis) +
                " do not fit the shape " + to_string(shape));
  }
  const auto at = shape.begin() + params.axis;
  return {count_of(Shape(shape.begin(), at)), scales, count_of(Shape(at + 1, shape.end()))};
}

template <class From, class To, class Convert>
std::vector<To> by_slice(std::span<const From> from, const Slices& shape, const Convert& convert) {
  std::vector<To> to(from.size());
  size_t at = 0;
  for (size_t o = 0; o < shape.outer; ++o) {
    for (size_t s = 0; s < shape.slices; ++s, at += shape.inner) convert(from.data() + at, to.data() + at, s);
  }
  return to;
}

// Codes of up to 16 bits, in the order of operations of ONNX Runtime's kernel: divide, clamp, round, add. A NaN ends up at the
// lowest code, because no comparison with it holds.
template <class Code>
__attribute__((always_inline)) inline void codes_of(const float* x, Code* codes, size_t count, float scale, int32_t zero) {
  const float low = static_cast<float>(std::numeric_limits<Code>::min() - zero);
  const float high = static_cast<float>(std::numeric_limits<Code>::max() - zero);
  for (size_t i = 0; i < count; ++i) {
    float steps = x[i] / scale;
    steps = steps > low ? steps : low;
    steps = steps < high ? steps : high;
    codes[i] = static_cast<Code>(static_cast<int32_t>(std::nearbyintf(steps)) + zero);
  }
}

QUASAR_CLONES("avx512f", "avx2", "default") void encode(const float* x, int8_t* q, size_t n, float s, int32_t z) {
  codes_of(x, q, n, s, z);
}
QUASAR_CLONES("avx512f", "avx2", "default") void encode(const float* x, uint8_t* q, size_t n, float s, int32_t z) {
  codes_of(x, q, n, s, z);
}
QUASAR_CLONES("avx512f", "avx2", "default") void encode(const float* x, int16_t* q, size_t n, float s, int32_t z) {
  codes_of(x, q, n, s, z);
}
QUASAR_CLONES("avx512f", "avx2", "default") void encode(const float* x, uint16_t* q, size_t n, float s, int32_t z) {
  codes_of(x, q, n, s, z);
}

// A bias' codes need more than float's 24 bits.
void encode(const float* x, int32_t* codes, size_t count, float scale, int32_t zero) {
  constexpr double low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < count; ++i) {
    const double code = std::nearbyint(static_cast<double>(x[i]) / scale) + zero;
    codes[i] = static_cast<int32_t>(code > low ? std::min(code, high) : low);
  }
}

template <class Code>
Tensor quantize_as(const Tensor& values, const QuantParams& params) {
  const Slices shape = slices_of(values.shape(), params);
  const auto convert = [&](const float* from, Code* to, size_t slice) {
    encode(from, to, shape.inner, params.scales[slice], params.zero_points[slice]);
  };
  return Tensor::of(values.shape(), by_slice<float, Code>(values.as<float>(), shape, convert));
}

template <class Code>
Tensor dequantize_as(const Tensor& codes, const QuantParams& params) {
  const Slices shape = slices_of(codes.shape(), params);
  const auto convert = [&](const Code* from, float* to, size_t slice) {
    const float scale = params.scales[slice];
    const int32_t zero = params.zero_points[slice];
    for (size_t i = 0; i < shape.inner; ++i) {
      const auto steps = static_cast<int32_t>(static_cast<uint32_t>(from[i]) - static_cast<uint32_t>(zero));
      to[i] = static_cast<float>(steps) * scale;
    }
  };
  return Tensor::of(codes.shape(), by_slice<Code, float>(codes.as<Code>(), shape, convert));
}

[[noreturn]] void unsupported(DataType type) {
  throw Error("quantization to " + std::string(name_of(type)) + " is not supported; integers of 4, 8, 16 and 32 bits are");
}

// Which scale an element has: a tensor seen as [outer, size, inner], blocks along the middle axis.
struct Blocks {
  size_t outer = 1, size = 1, inner = 1, length = 1;
  size_t count() const { return (size + length - 1) / length; }
};

Blocks blocks_of(const Shape& shape, const QuantParams& params) {
  if (params.block <= 0) {
    const Slices slices = slices_of(shape, params);
    return {slices.outer, slices.slices, slices.inner, 1};
  }
  const auto axis = static_cast<size_t>(params.axis);
  if (params.axis < 0 || axis >= shape.size() || params.scales.size() != count_of(scales_shape(shape, params)) ||
      params.zero_points.size() != params.scales.size() ||
      (!params.real_zero_points.empty() && params.real_zero_points.size() != params.scales.size())) {
    throw Error("quantization parameters: " + std::to_string(params.scales.size()) + " scales in blocks of " +
                std::to_string(params.block) + " do not fit the shape " + to_string(shape));
  }
  const auto at = shape.begin() + params.axis;
  return {count_of(Shape(shape.begin(), at)), static_cast<size_t>(*at), count_of(Shape(at + 1, shape.end())),
          static_cast<size_t>(params.block)};
}

// Calls visit(first element, how many, first scale, whether each element has the next scale) for runs of elements, on all
// threads.
template <class Visit>
void for_runs(const Blocks& blocks, bool per_slice, const Visit& visit) {
  const size_t runs = blocks.outer * blocks.size, worth_a_thread = 1 + (size_t{1} << 14) / std::max<size_t>(blocks.inner, 1);
  parallel_for((runs + worth_a_thread - 1) / worth_a_thread, 0, [&](size_t part) {
    for (size_t run = part * worth_a_thread; run < std::min((part + 1) * worth_a_thread, runs); ++run) {
      const size_t o = run / blocks.size, a = run % blocks.size, at = run * blocks.inner;
      if (per_slice) {
        visit(at, blocks.inner, a, false);
      } else {
        visit(at, blocks.inner, (o * blocks.count() + a / blocks.length) * blocks.inner, true);
      }
    }
  });
}

// What the encoders above cannot do: codes that share a byte, and scales in blocks.
template <class Code>
std::vector<Code> general_codes(const Tensor& values, const QuantParams& params) {
  const Grid grid = grid_of(params.type, false);
  const auto x = values.as<float>();
  std::vector<Code> codes(x.size());
  for_runs(blocks_of(values.shape(), params), params.block == 0, [&](size_t first, size_t count, size_t scale, bool each) {
    for (size_t i = 0; i < count; ++i) {
      const size_t k = each ? scale + i : scale;
      if (!params.real_zero_points.empty()) {
        const float code = std::nearbyintf(x[first + i] / params.scales[k] + params.real_zero_points[k]);
        codes[first + i] = static_cast<Code>(std::clamp(code, static_cast<float>(grid.low), static_cast<float>(grid.high)));
        continue;
      }
      const int32_t zero = params.zero_points[k];
      const float low = static_cast<float>(grid.low - zero), high = static_cast<float>(grid.high - zero);
      float steps = x[first + i] / params.scales[k];
      steps = steps > low ? steps : low;
      steps = steps < high ? steps : high;
      codes[first + i] = static_cast<Code>(static_cast<int32_t>(std::nearbyintf(steps)) + zero);
    }
  });
  return codes;
}

Tensor general_values(const Tensor& codes, const QuantParams& params) {
  const std::vector<int32_t> plain = plain_codes(codes);
  std::vector<float> values(plain.size());
  for_runs(blocks_of(codes.shape(), params), params.block == 0, [&](size_t first, size_t count, size_t scale, bool each) {
    for (size_t i = 0; i < count; ++i) {
      const size_t k = each ? scale + i : scale;
      const float steps = params.real_zero_points.empty() ? static_cast<float>(plain[first + i] - params.zero_points[k])
                                                          : static_cast<float>(plain[first + i]) - params.real_zero_points[k];
      values[first + i] = steps * params.scales[k];
    }
  });
  return Tensor::of(codes.shape(), values);
}

bool is_general(const QuantParams& params) {
  return params.block > 0 || bits_of(params.type) < 8;
}

// Codes that share a byte, the low bits first.
std::vector<int32_t> unpacked_codes(const Tensor& codes) {
  const size_t bits = bits_of(codes.type()), per_byte = 8 / bits;
  const Grid grid = grid_of(codes.type(), false);
  const auto high = static_cast<int32_t>(grid.high), count = static_cast<int32_t>(grid.high - grid.low) + 1;
  std::vector<int32_t> out(codes.count());
  const auto bytes = codes.bytes();
  for (size_t i = 0; i < out.size(); ++i) {
    const int32_t code = static_cast<int32_t>(bytes[i / per_byte]) >> (i % per_byte * bits) & (count - 1);
    out[i] = code > high ? code - count : code;
  }
  return out;
}

template <class Code>
Tensor packed_codes(DataType type, const Shape& shape, std::span<const Code> codes) {
  const size_t bits = bits_of(type), per_byte = 8 / bits;
  const int32_t mask = (1 << bits) - 1;
  std::vector<uint8_t> packed((codes.size() + per_byte - 1) / per_byte);
  for (size_t i = 0; i < codes.size(); ++i)
    packed[i / per_byte] |= static_cast<uint8_t>((codes[i] & mask) << (i % per_byte * bits));
  return Tensor::copy(type, shape, packed.data(), packed.size());
}

template <class Code>
std::vector<int32_t> widened(const Tensor& codes) {
  return {codes.as<Code>().begin(), codes.as<Code>().end()};
}

template <class Code>
Tensor narrowed(const Shape& shape, std::span<const int32_t> codes) {
  return Tensor::of(shape, std::vector<Code>(codes.begin(), codes.end()));
}

}  // namespace

Shape scales_shape(const Shape& shape, const QuantParams& params) {
  if (params.axis < 0) return {};
  if (params.block <= 0) return {static_cast<int64_t>(params.scales.size())};
  Shape out = shape;
  auto& size = out.at(static_cast<size_t>(params.axis));
  size = (size + params.block - 1) / params.block;
  return out;
}

std::vector<int32_t> plain_codes(const Tensor& codes) {
  switch (codes.type()) {
    case DataType::int8:
      return widened<int8_t>(codes);
    case DataType::uint8:
      return widened<uint8_t>(codes);
    case DataType::int16:
      return widened<int16_t>(codes);
    case DataType::uint16:
      return widened<uint16_t>(codes);
    case DataType::int32:
      return widened<int32_t>(codes);
    case DataType::int2:
    case DataType::uint2:
    case DataType::int4:
    case DataType::uint4:
      return unpacked_codes(codes);
    default:
      unsupported(codes.type());
  }
}

Tensor codes_tensor(DataType type, const Shape& shape, std::span<const int32_t> codes) {
  switch (type) {
    case DataType::int8:
      return narrowed<int8_t>(shape, codes);
    case DataType::uint8:
      return narrowed<uint8_t>(shape, codes);
    case DataType::int16:
      return narrowed<int16_t>(shape, codes);
    case DataType::uint16:
      return narrowed<uint16_t>(shape, codes);
    case DataType::int32:
      return narrowed<int32_t>(shape, codes);
    case DataType::int2:
    case DataType::uint2:
    case DataType::int4:
    case DataType::uint4:
      return packed_codes(type, shape, codes);
    default:
      unsupported(type);
  }
}

namespace {

Tensor quantize_in_general(const Tensor& values, const QuantParams& params) {
  if (bits_of(params.type) > 8) return codes_tensor(params.type, values.shape(), general_codes<int32_t>(values, params));
  if (bits_of(params.type) < 8) {
    const std::vector<int8_t> codes = general_codes<int8_t>(values, params);
    return packed_codes(params.type, values.shape(), std::span<const int8_t>(codes));
  }
  if (params.type == DataType::int8) return Tensor::of(values.shape(), general_codes<int8_t>(values, params));
  return Tensor::of(values.shape(), general_codes<uint8_t>(values, params));
}

}  // namespace

Tensor quantize(const Tensor& values, const QuantParams& params) {
  if (is_half(params.type)) return converted(values, params.type);
  if (is_general(params)) return quantize_in_general(values, params);
  switch (params.type) {
    case DataType::int8:
      return quantize_as<int8_t>(values, params);
    case DataType::uint8:
      return quantize_as<uint8_t>(values, params);
    case DataType::int16:
      return quantize_as<int16_t>(values, params);
    case DataType::uint16:
      return quantize_as<uint16_t>(values, params);
    case DataType::int32:
      return quantize_as<int32_t>(values, params);
    default:
      unsupported(params.type);
  }
}

Tensor dequantize(const Tensor& codes, const QuantParams& params) {
  if (is_half(params.type)) return converted(codes, DataType::float32);
  if (is_general(params)) return general_values(codes, params);
  switch (codes.type()) {
    case DataType::int8:
      return dequantize_as<int8_t>(codes, params);
    case DataType::uint8:
      return dequantize_as<uint8_t>(codes, params);
    case DataType::int16:
      return dequantize_as<int16_t>(codes, params);
    case DataType::uint16:
      return dequantize_as<uint16_t>(codes, params);
    case DataType::int32:
      return dequantize_as<int32_t>(codes, params);
    default:
      unsupported(codes.type());
  }
}

QuantParams stored_as(DataType type, QuantParams params) {
  if (type == params.type) return params;
  const auto shift = static_cast<int32_t>(grid_of(type, false).low - grid_of(params.type, false).low);
  for (auto& zero_point : params.zero_points) zero_point += shift;
  params.type = type;
  return params;
}

}  // namespace quasar::quant
