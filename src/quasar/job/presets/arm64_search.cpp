#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> arm64_search() {
  return {
      "8 bits for ONNX Runtime on 64-bit Arm. 10 calibrations: asymmetric uint8 activations, every method, int8 weights per "
      "channel. "
      "Then all operators, products only or with ranges at run time, and optimized rounding of the best.",
      [](const Options&) {
        return std::make_unique<Preset>(search_for({
            .target = "ort_arm64",
            .activations = {"UInt8Spec"},
            .methods = {"MinMax", "Percentile", "LayerwisePercentile", "Entropy", "MinMSE"},
            .more = {{"BiasCorrection", {true}}, {"form", {"all", "products", "dynamic_products", "dynamic"}}},
        }));
      },
      {},
      {"ort_arm64_search"}};
}

}  // namespace quasar::tune::presets
