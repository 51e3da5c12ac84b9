// What quantization would cost a model, layer by layer, measured on a few samples before any search.
#pragma once

#include <filesystem>

#include "quasar/base/json.hpp"

namespace quasar::tune {

// `data`: as data::open takes it; at most 16 samples are used. Quantization is simulated (toggled_model.hpp), so no target's
// kernels matter.
//   {samples, scheme, schemes: [{name, distance}], layers: [{node, type, output_error, accumulated, noise_to_signal,
//    rounding_error: {tensor, channel}, weight_error: {tensor, channel}, outlier_channels}], ranges, advice: [text]}
//   distance, output_error  mean of ‖float − quantized‖₂ at the model's outputs: of everything, of this layer alone
//   accumulated             the same with all layers up to this one quantized
//   noise_to_signal         of the layer's own result, everything before it in float
//   rounding_error          of the layer's own result when only its weights are rounded, over its variance (Gram matrices; layers
//                           that rounding could optimize), with one scale and with one per channel
//   weight_error            of the weights themselves, over their mean square
//   outlier_channels        channels whose greatest weight is over 8 times the median channel's
// Layers are sorted by output_error, the greatest first. Throws Error for a model or data that cannot be used.
Json examine(const std::filesystem::path& model, const Json& data);

}  // namespace quasar::tune
