#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> tensorrt_search() {
  return {
      "8 bits for TensorRT: symmetric int8 activations, int8 weights per channel, float biases (12 calibrations), then optimized "
      "rounding of the best.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
              "target": "tensorrt",
              "search_space": {
                "activation": ["Int8Spec"],
                "activation_params": {
                  "symmetric": [true],
                  "calibration_method": ["MinMax", "Percentile", "LayerwisePercentile", "Entropy", "MinMSE", "Distribution"],
                  "only_if": "activation"
                },
                "weight": ["Int8Spec"],
                "weight_params": {
                  "symmetric": [true],
                  "calibration_method": ["MinMax", "MinMSE"],
                  "quant_granularity": ["Channel"],
                  "only_if": "weight"
                },
                "QuantizeBias": [false],
                "AlignConcat": [true],
                "algorithms": [null, "adaround", "adaquant"]
              },
              "two_stage_search": true,
              "search_algo": "Grid"
            })",
                                                   "preset tensorrt_search"),
                                        true);
      }};
}

}  // namespace quasar::tune::presets
