#include "quasar/quant/packed_codes.hpp"

#include <algorithm>
#include <bit>

#include "quasar/base/parallel.hpp"

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

// Codes of 2, 4 or 8 bits, one by one from where they are.
class StoredCodes {
 public:
  explicit StoredCodes(const Tensor& codes)
      : bytes_(codes.bytes()),
        bits_(bits_of(codes.type())),
        per_byte_(std::countr_zero(8 / bits_)),
        has_sign_(grid_of(codes.type(), false).low < 0) {}

  int32_t operator[](size_t i) const {
    const size_t place = i & ((size_t{1} << per_byte_) - 1);
    const int32_t code = static_cast<int32_t>(bytes_[i >> per_byte_]) >> (place * bits_) & ((1 << bits_) - 1);
    return has_sign_ && code >= 1 << (bits_ - 1) ? code - (1 << bits_) : code;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t bits_;
  int per_byte_;  // as a power of two
  bool has_sign_;
};

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
  if (!params.real_zero_points.empty()) out.real_zero_points.resize(out.scales.size());
  const int32_t middle = 1 << (bits - 1);
  const auto lowest = static_cast<int32_t>(grid_of(params.type, false).low);
  const StoredCodes stored(codes);
  const int shift = std::countr_zero(per_byte);
  const auto put = [&](std::vector<uint8_t>& to, size_t place, int32_t code) {
    to[place >> shift] |= static_cast<uint8_t>(code << ((place & (per_byte - 1)) * bits));
  };
  // Of neighbouring outputs, as codes that are stored [inputs, outputs] are read line by line. No two of them share a byte.
  const auto pack = [&](size_t first, size_t end, size_t b) {
    for (size_t o = first; o < end; ++o) {
      const size_t scale = scale_index(params, matrix, o, b * out.block);
      out.scales[o * out.blocks + b] = params.scales[scale];
      if (!params.real_zero_points.empty())
        out.real_zero_points[o * out.blocks + b] = params.real_zero_points[scale] - static_cast<float>(lowest);
      const int32_t zero = params.zero_points[scale] - lowest;
      put(out.zero_points, o * zero_line * per_byte + b, zero);
      for (size_t i = matrix.inputs; i < (b + 1) * out.block; ++i) put(out.codes, o * line * per_byte + i, zero);
    }
    for (size_t i = b * out.block; i < std::min((b + 1) * out.block, matrix.inputs); ++i) {
      for (size_t o = first; o < end; ++o) put(out.codes, o * line * per_byte + i, stored[matrix.at(o, i)] - lowest);
    }
  };
  constexpr size_t strip = 64;
  parallel_for((matrix.outputs + strip - 1) / strip, 0, [&](size_t at) {
    for (size_t b = 0; b < out.blocks; ++b) pack(at * strip, std::min((at + 1) * strip, matrix.outputs), b);
  });
  out.neutral = std::ranges::all_of(params.zero_points, [&](int32_t zero) { return zero - lowest == middle; });
  return out;
}

}  // namespace quasar::quant
