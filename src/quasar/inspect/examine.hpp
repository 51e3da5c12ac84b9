// What quantization would cost a model, layer by layer, measured on a few samples before any search.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/base/api.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/log.hpp"

namespace quasar::tune {

struct ExamineOptions {
  std::filesystem::path model;
  Json data;                // as data::open takes it; at most 16 samples are measured on
  std::string target = {};  // that the quantized model is made for; "": ort_cpu
  Json words = {};          // the configuration that layers are measured under; null: the scheme that suits the target
  bool latency = false;     // also what each operator costs in time
  Progress progress = {};
};

// `layers` are the operators that the target quantizes: to leave another one in float changes nothing. By themselves they are
// simulated (toggled_model.hpp), whatever the target's kernels; `real` and accumulated_noise are of the quantized model that ONNX
// Runtime runs. `schemes` quantize all that has a quantized form.
//   {samples, scheme, schemes: [{name, distance}], length, equalized_pairs, real: {target, distance, by, quantized, float},
//    layers: [{node, type, output_error, accumulated, noise_to_signal, accumulated_noise, rounding_error: {tensor, channel},
//    weight_error: {tensor, channel}, outlier_channels, channels, widest}], ranges, advice: [text]}
// With `latency` also operator_costs, as sensitivity/operator_costs.hpp writes them: of the float model and of that for the
// target. Large models have layer_samples too: output_error, accumulated and noise_to_signal are of the first so many samples.
//   by                      who says which operators are quantized: "ONNX Runtime", or "plan" for processors that it knows
//   nothing of distance, output_error  mean of ‖float − quantized‖₂ at the model's outputs: of everything, of this layer alone
//   length                  mean of ‖float‖₂ there
//   accumulated             the distance with all layers up to this one quantized
//   noise_to_signal         Σ‖y − ŷ‖² / Σ‖y‖² of the layer's own result, everything before it in float
//   accumulated_noise       the same in the real quantized model, everything before it quantized too
//   rounding_error          of the layer's own result when only its weights are rounded, over its variance (Gram matrices; layers
//                           that rounding could optimize), with one scale and with one per channel
//   weight_error            of the weights themselves, over their mean square
//   outlier_channels        of `channels` those whose greatest weight is over 8 times the median channel's; `widest`: how many
//                           times the greatest is
//   equalized_pairs         pairs of layers that cross-layer equalization applies to; where there are none, pairs_without_clip6:
//                           how many there were if every Clip(0, 6) were a Relu
// What is not known of a layer is left out. Layers are sorted by output_error, the greatest first. Throws Error for a model,
// data or a configuration that cannot be used.
QUASAR_API Json examine(const ExamineOptions& options);

}  // namespace quasar::tune
