#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> cpu_int8_search() {
  return {
      "8 bits for CPUs. A grid of 20: asymmetric uint8 activations, every calibration method, weights per channel or per tensor. "
      "Then the forms that the model may have, and optimized rounding of the best.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
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
                  "quant_granularity": ["Channel", "Tensor"],
                  "only_if": "weight"
                },
                "BiasCorrection": [true],
                "form": ["all", "products", "dynamic_products", "dynamic"],
                "algorithms": [null, "adaround", "adaquant"]
              },
              "speed_gate": 1.02,
              "two_stage_search": true,
              "search_algo": "Grid"
            })",
                                                   "preset cpu_int8_search"),
                                        true);
      },
      {},
      {"ort_cpu_search"}};
}

}  // namespace quasar::tune::presets
