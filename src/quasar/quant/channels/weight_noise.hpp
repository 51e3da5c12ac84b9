// Noise to signal of rounded weights, without anything known of their inputs.
#pragma once

#include "quasar/quant/channels/channel_layer.hpp"
#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

// ‖W − Ŵ‖² / ‖W‖² for nearest rounding; with `layer` the mean over its output channels, where W is one channel's. 0 for zeros.
double weight_noise(const Tensor& weights, const QuantParams& params, const ChannelLayer* layer = nullptr);

}  // namespace quasar::quant
