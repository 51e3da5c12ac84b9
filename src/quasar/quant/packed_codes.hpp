// Codes of a matrix as com.microsoft's operators on blocks take them (MatMulNBits, GatherBlockQuantized): without sign, several
// in a byte, low bits first.
#pragma once

#include <cstdint>
#include <vector>

#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

// A matrix as rows [outputs, inputs], whichever way it is stored.
struct MatrixRows {
  size_t outputs = 0, inputs = 0;
  bool rows_first = false;  // stored [outputs, inputs]
  size_t at(size_t output, size_t input) const { return rows_first ? output * inputs + input : input * outputs + output; }
};

MatrixRows rows_of(const Shape& shape, bool rows_first);

struct PackedCodes {
  std::vector<uint8_t> codes;           // [outputs, blocks, bytes of a block]; the last block is filled up
  std::vector<uint8_t> zero_points;     // [outputs, bytes of so many blocks]
  std::vector<float> scales;            // [outputs, blocks]
  std::vector<float> real_zero_points;  // [outputs, blocks], where they are no integers
  size_t block = 0, blocks = 0;
  bool neutral = true;  // all zero points are the middle, which is the operators' default
};

// Of 2, 4 or 8 bits. Scales of whole channels or tensors are repeated for blocks of 128 inputs.
PackedCodes packed(const Tensor& codes, const QuantParams& params, const MatrixRows& matrix);

}  // namespace quasar::quant
