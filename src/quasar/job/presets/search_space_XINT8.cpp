#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> search_space_XINT8() {
  return {
      "Auto Search v1's template for NPUs. 20 configurations: power-of-two scales by MinMSE or NonOverflow, equalization or not, "
      "then AdaRound, AdaQuant or neither.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
  "search_space": {
    "calibrate_method": ["PowerOfTwoMethod.MinMSE", "PowerOfTwoMethod.NonOverflow"],
    "activation_type": ["QInt8"],
    "weight_type": ["QInt8"],
    "enable_npu_cnn": [true],
    "include_cle": [false, true],
    "include_fast_ft": [false, true],
    "extra_options": {
      "ActivationSymmetric": [true],
      "WeightSymmetric": [true],
      "FastFinetune": {
        "DataSize": [1000],
        "NumIterations": [1000, 5000],
        "OptimAlgorithm": ["adaround", "adaquant"],
        "LearningRate": [0.1],
        "FixedSeed": [42]
      }
    }
  },
  "two_stage_search": true,
  "quant_config": "S8S8_AAWS",
  "search_algo": "grid_search",
  "search_metric": "L2"
})",
                                                   "preset search_space_XINT8"));
      }};
}

}  // namespace quasar::tune::presets
