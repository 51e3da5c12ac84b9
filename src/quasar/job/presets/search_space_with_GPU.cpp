#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> search_space_with_GPU() {
  return {
      "Auto Search v1's template with fine-tuning on a GPU, which is recorded: rounding runs on the CPU. uint8 activations, "
      "power-of-two scales, with and without equalization.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
  "search_space": {
    "calibrate_method": ["PowerOfTwoMethod.MinMSE"],
    "activation_type": ["QUInt8"],
    "weight_type": ["QInt8"],
    "enable_npu_cnn": [true],
    "include_cle": [false, true],
    "include_fast_ft": [true],
    "extra_options": {
      "ActivationSymmetric": [true],
      "WeightSymmetric": [true],
      "FastFinetune": {"OptimDevice": ["cuda:0"], "InferDevice": ["cuda:0"]}
    }
  },
  "quant_config": "S8S8_AAWS",
  "search_algo": "grid_search",
  "search_metric": "L2"
})",
                                                   "preset search_space_with_GPU"));
      }};
}

}  // namespace quasar::tune::presets
