#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> openvino_npu_search() {
  return {
      "8 bits for OpenVINO's NPU, judged on its CPU. 10 calibrations: asymmetric uint8 activations, every method, int8 weights "
      "per channel. Then optimized rounding of the best.",
      [](const Options&) {
        return std::make_unique<Preset>(search_for({
            .target = "openvino_npu",
            .activations = {"UInt8Spec"},
            .methods = {"MinMax", "Percentile", "LayerwisePercentile", "Entropy", "MinMSE"},
            .more = {{"BiasCorrection", {true}}},
        }));
      }};
}

}  // namespace quasar::tune::presets
