#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> openvino_search() {
  return {
      "8 bits for OpenVINO's CPU. 10 calibrations: asymmetric uint8 activations, every method, int8 weights per channel. Then "
      "all operators or products only, and optimized rounding of the best.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
              "target": "openvino",
              "search_space": {
                "activation": ["UInt8Spec"],
                "activation_params": {
                  "symmetric": [false],
                  "calibration_method": ["MinMax", "Percentile", "LayerwisePercentile", "Entropy", "MinMSE"],
                  "only_if": "activation"
                },
                "weight": ["Int8Spec"],
                "weight_params": {
                  "symmetric": [true],
                  "calibration_method": ["MinMax", "MinMSE"],
                  "quant_granularity": ["Channel"],
                  "only_if": "weight"
                },
                "BiasCorrection": [true],
                "form": ["all", "products"],
                "algorithms": [null, "adaround", "adaquant"]
              },
              "two_stage_search": true,
              "search_algo": "Grid"
            })",
                                                   "preset openvino_search"),
                                        true);
      }};
}

}  // namespace quasar::tune::presets
