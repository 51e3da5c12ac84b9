#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> AutoSearchConfig_Default() {
  return {
      "Auto Search v1's default space of 43 200 configurations: six calibration methods, int8 and int16, equalization, "
      "SmoothQuant, mixed precision, AdaRound and AdaQuant. It draws 20 unless n_trials says otherwise.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
  "search_space": {
    "calibrate_method": ["PowerOfTwoMethod.MinMSE", "PowerOfTwoMethod.NonOverflow", "CalibrationMethod.MinMax", "CalibrationMethod.Entropy",
                         "CalibrationMethod.Percentile", "CalibrationMethod.LayerWisePercentile"],
    "activation_type": ["QInt8", "QInt16"],
    "weight_type": ["QInt8", "QInt16"],
    "include_cle": [true, false],
    "include_auto_mp": [false, true],
    "include_fast_ft": [false, true],
    "include_sq": [false, true],
    "extra_options": {
      "ActivationSymmetric": [true, false],
      "WeightSymmetric": [true, false],
      "CalibMovingAverage": [true, false],
      "CalibMovingAverageConstant": [0.01, 0.001],
      "Percentile": [99.99, 99.999],
      "SmoothAlpha": [0.5, 0.6],
      "FastFinetune": {
        "DataSize": [500, 1000],
        "NumIterations": [100, 1000],
        "OptimAlgorithm": ["adaround", "adaquant"],
        "LearningRate": [0.01, 0.001, 0.0001],
        "FixedSeed": [42]
      }
    }
  },
  "search_algo": "Random",
  "n_trials": 20,
  "search_metric": "L2"
})",
                                                   "preset AutoSearchConfig_Default"));
      }};
}

}  // namespace quasar::tune::presets
