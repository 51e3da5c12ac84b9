#include "quasar/quant/packed_codes.hpp"

namespace quasar::quant {
namespace {

constexpr size_t neutral_block = 128;

// Which scale the weight has.
size_t scale_index(const QuantParams& params, const MatrixRows& matrix, size_t output, size_t input) {
  if (params.scales.size() == 1) return 0;
  if (params.block == 0) return output;
  const auto block = static_cast<size_t>(params.block);
  return matrix.rows_first ? output * ((matrix.inputs + block - 1) / block) + input / block
                           : input / block * matrix.outputs + output;
}

}  // namespace

MatrixRows rows_of(const Shape& shape, bool rows_first) {
  const auto first = static_cast<size_t>(shape.at(0)), second = static_cast<size_t>(shape.at(1));
  return rows_first ? MatrixRows{first, second, true} : MatrixRows{second, first, false};
}

PackedCodes packed(const Tensor& codes, const QuantParams& params, const MatrixRows& matrix) {
  PackedCodes out;
  const size_t bits = bits_of(params.type), per_byte = 8 / bits;
  out.block = params.block > 0 ? static_cast<size_t>(params.block) : neutral_block;
  out.blocks = (matrix.inputs + out.block - 1) / out.block;
  const size_t line = out.blocks * out.block / per_byte, zero_line = (out.blocks + per_byte - 1) / per_byte;
  out.codes.resize(matrix.outputs * line);
  out.zero_points.resize(matrix.outputs * zero_line);
  out.scales.resize(matrix.outputs * out.blocks);
  const int32_t middle = 1 << (bits - 1);
  const auto lowest = static_cast<int32_t>(grid_of(params.type, false).low);
  const std::vector<int32_t> plain = plain_codes(codes);
  const auto put = [&](std::vector<uint8_t>& to, size_t place, int32_t code) {
    to[place / per_byte] |= static_cast<uint8_t>(code << (place % per_byte * bits));
  };
  for (size_t o = 0; o < matrix.outputs; ++o) {
    for (size_t b = 0; b < out.blocks; ++b) {
      const size_t scale = scale_index(params, matrix, o, b * out.block);
      const int32_t zero = params.zero_points[scale] - lowest;
      out.scales[o * out.blocks + b] = params.scales[scale];
      if (!params.real_zero_points.empty())
        out.real_zero_points.push_back(params.real_zero_points[scale] - static_cast<float>(lowest));
      out.neutral = out.neutral && zero == middle;
      put(out.zero_points, o * zero_line * per_byte + b, zero);
      for (size_t i = b * out.block; i < (b + 1) * out.block; ++i)
        put(out.codes, o * line * per_byte + i, i < matrix.inputs ? plain[matrix.at(o, i)] - lowest : zero);
    }
  }
  return out;
}

}  // namespace quasar::quant
