#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> npu_int8_search() {
  return {
      "Ours for NPUs: XInt8Spec with FitPowerOfTwo. 4 calibrations by both range methods. Then AdaRound, AdaQuant and GPTQ with "
      "three dampings as a grid.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
  "search_space": {
    "FitPowerOfTwo": [true],
    "activation": ["XInt8Spec"],
    "activation_params": {"calibration_method": ["MinMSE", "NonOverflow"], "only_if": "activation"},
    "weight": ["XInt8Spec"],
    "weight_params": {"calibration_method": ["MinMSE", "NonOverflow"], "only_if": "weight"},
    "algorithms": ["adaquant", "adaround", "gptq"],
    "adaquant_params": {"damping": [1, 0.3, 3], "only_if": {"algorithms": "adaquant"}},
    "adaround_params": {"damping": [1, 0.3, 3], "only_if": {"algorithms": "adaround"}},
    "gptq_params": {"damping": [1], "only_if": {"algorithms": "gptq"}}
  },
  "two_stage_search": true,
  "search_algo": "Grid"
})",
                                                   "preset npu_int8_search"));
      }};
}

}  // namespace quasar::tune::presets
