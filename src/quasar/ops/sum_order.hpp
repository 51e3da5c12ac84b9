// In which order a kernel adds up the products of one sum. x86 kernels without VNNI add two neighbouring products in 16 bits
// before they go on in 32 (VPMADDUBSW), so that pairs of weights matter there:
//   Conv, of each output         k runs over (kernel element, input channel of the group), channels fastest
//   Gemm, MatMul, LSTM           k runs over the inputs
// Elements 2i and 2i + 1 of k share a sum of 16 bits. Convolutions with one input and one output per group (depthwise) and
// ConvInteger have kernels without such sums.
// Found by experiment with ONNX Runtime 1.30 (tests/processors).
//
// On 64-bit Arm its kernels add in 32 bits (tests/processors, Cortex-A53 and the newest that QEMU knows).
//
// OpenVINO's kernels (oneDNN) add pairs too. They differ in two points, found by experiment with OpenVINO 2026.4:
//   Conv without groups          an odd last channel of a kernel element shares its sum with nothing
//   ConvTranspose                has such sums: of two neighbouring input channels at one kernel element
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "quasar/graph/model.hpp"

namespace quasar::ops {

// Whose kernels add.
enum class Kernels { onnxruntime, neon, onednn };  // neon: ONNX Runtime's on 64-bit Arm

// Where the terms of a sum are stored in the tensor of weights.
struct SumOrder {
  size_t sums = 0, terms = 0;  // so many sums of so many products each
  // Element of the tensor (in memory order) that is term `term` of sum `sum`.
  size_t at(size_t sum, size_t term) const {
    return sum / columns * stack + sum % columns * across + term % fast * along + term / fast * beyond;
  }
  size_t columns = 1, stack = 0, across = 0;  // sums: columns of one matrix, distance of matrices, of columns
  size_t fast = 1, along = 1, beyond = 0;     // terms: as many lie `along` apart, the next such run `beyond` from the last
  bool padded = false;                        // no pair goes on from one such run into the next
  size_t pairs() const { return padded ? sums * (terms / fast) * (fast / 2) : sums * (terms / 2); }
  bool operator==(const SumOrder&) const = default;
};

// The order for a node of this type with weights of this shape: Conv (QLinearConv), MatMul (MatMulInteger,
// QLinearMatMul, DynamicQuantizeMatMul …), Gemm (QGemm), DynamicQuantizeLSTM, and LSTM, whose weights are a matrix [rows, inputs]
// here. nullopt: its kernels do not add pairs (depthwise convolutions, other operators), or the shape does not fit.
std::optional<SumOrder> sum_order(const graph::Node& node, const Shape& weights, Kernels kernels = Kernels::onnxruntime);

// For element j of a row of weights as they are stored for one output of a convolution [channels, kernel elements] (a matrix:
// one kernel element), which other element shares its sum of 16 bits; nullopt: it stands alone. `padded`: as SumOrder's.
std::optional<size_t> partner_of(size_t j, size_t channels, size_t taps, bool padded = false);

// Calls use(i, j) for all elements i, j that share a sum of 16 bits; in an order that walks through the memory where sums lie
// side by side, as columns of a matrix do.
template <class Use>
void for_pairs(const SumOrder& order, const Use& use) {
  const size_t run = order.padded ? order.fast : order.terms;
  const auto pairs_of = [&](const auto& with_pair) {
    for (size_t begin = 0; begin < order.terms; begin += run) {
      for (size_t term = begin; term + 1 < begin + run; term += 2) with_pair(order.at(0, term), order.at(0, term + 1));
    }
  };
  for (size_t sum = 0; sum < order.sums; sum += order.columns) {
    const size_t first = order.at(sum, 0), columns = std::min(order.columns, order.sums - sum);
    if (order.across == 1) {
      pairs_of([&](size_t i, size_t j) {
        for (size_t column = 0; column < columns; column++) use(first + column + i, first + column + j);
      });
    } else {
      for (size_t column = 0; column < columns; column++) {
        const size_t at = first + column * order.across;
        pairs_of([&](size_t i, size_t j) { use(at + i, at + j); });
      }
    }
  }
}

// Pairs of signed codes whose products with values of 0 … `most_input` can leave 16 bits.
size_t overflowing_pairs(std::span<const int32_t> codes, const SumOrder& order, int32_t most_input = 255);

}  // namespace quasar::ops
