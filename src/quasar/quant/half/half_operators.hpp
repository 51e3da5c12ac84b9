// Which operators compute in float16 in a file of int8 and float16, and which of their inputs have that type.
#pragma once

#include <cstddef>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::quant {

// The largest finite number of float16.
constexpr double largest_half = 65504;
// What values of operators in float16 may reach: calibration samples are not all samples.
constexpr double furthest_in_half = largest_half / 2;
// What hides a position from Softmax in float16, in place of −3.4e38 or −inf: the sum with any score stays finite, and exp() of
// it is 0 beside any other.
constexpr float hidden_in_half = -1e4F;

// The inputs that have the type of the node's output: all must be float16 where it is. Empty: the operator has no row, as ONNX
// or TensorRT has no float16 for it, or as positions and indices are computed by it, for which 11 bits are too few.
std::vector<size_t> half_inputs(const graph::Node& node);

// Whether ONNX Runtime's CPU provider on 64-bit Arm has a kernel of float16 for it (1.30, get_all_opkernel_def() of its wheel for
// aarch64), keeps to it, as parts of Gelu are joined to an operator that has none, and is right: convolutions in groups are wrong
// there (1.30), but for depthwise ones of as many outputs as inputs. Elsewhere it casts to float32 around a node.
bool has_arm_kernel(const graph::Node& node, const graph::Model& model);

// Whether the operator moves values, or joins them: where nothing around it is float16, casts for it alone are in vain.
bool moves_or_joins(const graph::Node& node);

// Whether float16 holds the number with a relative error of at most 2⁻⁸: that of its subnormal numbers, below 6.1e-5, grows.
bool fits_half(float number);

}  // namespace quasar::quant
