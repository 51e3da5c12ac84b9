// Where a quantized model's sums can leave 16 bits, on processors whose kernels add two products in so many (sum_order.hpp).
#pragma once

#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/ops/sum_order.hpp"

namespace quasar::ops {

// One node: of `pairs` pairs of weights so many overflow with some input, and so many weights have code −128, two of which
// overflow on Arm without dot products.
struct Overflow {
  std::string node;
  size_t pairs = 0, overflowing = 0, lowest = 0;
};

// The nodes with sums that can overflow in these kernels: Conv, Gemm and MatMul between pairs of Q/DQ, and operators on codes
// (QLinearConv, MatMulInteger, DynamicQuantizeLSTM …) with constant int8 weights. Made by Quasar or not.
std::vector<Overflow> overflows(const graph::Model& quantized, Kernels kernels = Kernels::onnxruntime);

// The largest code that a value can have on the grid (scale, zero point) of uint8: less than 255 where the operator that wrote it
// (through operators that move values, and Q/DQ) has an upper bound.
int most_code(const graph::Index& index, const std::string& value, float scale, int zero_point);

}  // namespace quasar::ops
