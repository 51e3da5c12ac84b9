#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> search_space_S8S8_AAWS() {
  return {
      "Auto Search v1's example in the guide. 6 configurations: int8 and int16 activations without symmetry, MinMax with and "
      "without moving average, Percentile.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
  "search_space": {
    "calibrate_method": ["CalibrationMethod.MinMax", "CalibrationMethod.Percentile"],
    "activation_type": ["QInt8", "QInt16"],
    "weight_type": ["QInt8"],
    "include_cle": [false],
    "include_fast_ft": [false],
    "extra_options": {
      "ActivationSymmetric": [false],
      "WeightSymmetric": [true],
      "CalibMovingAverage": [false, true],
      "CalibMovingAverageConstant": [0.01]
    }
  },
  "quant_config": "S8S8_AAWS",
  "search_algo": "grid_search",
  "search_metric": "L2"
})",
                                                   "preset search_space_S8S8_AAWS"));
      }};
}

}  // namespace quasar::tune::presets
