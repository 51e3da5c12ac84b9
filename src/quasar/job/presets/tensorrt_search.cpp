#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> tensorrt_search() {
  return {
      "8 bits for TensorRT: symmetric int8 activations, int8 weights per channel, float biases (12 calibrations), then optimized "
      "rounding of the best.",
      [](const Options&) {
        return std::make_unique<Preset>(search_for({
            .target = "tensorrt",
            .activations = {"Int8Spec"},
            .symmetric = true,
            .methods = {"MinMax", "Percentile", "LayerwisePercentile", "Entropy", "MinMSE", "Distribution"},
            .more = {{"QuantizeBias", {false}}, {"AlignConcat", {true}}},
        }));
      }};
}

}  // namespace quasar::tune::presets
