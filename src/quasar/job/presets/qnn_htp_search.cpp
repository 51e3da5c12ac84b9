#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> qnn_htp_search() {
  return {
      "Qualcomm's NPU. 12 calibrations: asymmetric uint16 or uint8 activations, int8 weights per channel. Then optimized "
      "rounding of the best.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
              "target": "qnn_htp",
              "search_space": {
                "activation": ["UInt16Spec", "UInt8Spec"],
                "activation_params": {
                  "symmetric": [false],
                  "calibration_method": ["MinMax", "Percentile", "MinMSE"],
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
                "algorithms": [null, "adaround", "adaquant"]
              },
              "two_stage_search": true,
              "search_algo": "Grid"
            })",
                                                   "preset qnn_htp_search"),
                                        true);
      }};
}

}  // namespace quasar::tune::presets
