// Scales of weights and biases.
//   weights  one scale and zero point, or one per slice along the output-channel axis, by the scheme's calibration method
//   bias     int32 codes with scale s_bias = s_input · s_weight, so that they add to the integer sums as they are
#pragma once

#include <optional>

#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

// `axis`: the output-channel axis; nullopt: the weights have no channels, one scale serves all. Granularity group: matrices get
// one scale per block of inputs, other weights (convolutions') one per channel.
QuantParams weight_params(const Tensor& weights, std::optional<int> axis, const Scheme& scheme);

// Raises weight scales where |bias| / (s_input · s_weight) would exceed 2³⁰ (half of int32, the other half is left to the sum),
// which happens in channels whose weights vanish, and with 16-bit weights and activations. Channels that hold nothing but zeros
// get the smallest scale that fits. Power-of-two and rational scales stay such. -> number of scales changed.
size_t fit_to_bias(QuantParams& params, const Tensor& weights, const Tensor& bias, float input_scale,
                   ScaleType scale_type = ScaleType::float32);

// One scale, or one per weight scale, along the last axis of `bias`.
QuantParams bias_params(const QuantParams& weight, const Tensor& bias, float input_scale);

}  // namespace quasar::quant
