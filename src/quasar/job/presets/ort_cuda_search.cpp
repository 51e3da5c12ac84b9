#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> ort_cuda_search() {
  return {
      "8 bits between pairs, as a simulation on ONNX Runtime's CUDA provider. 10 calibrations: asymmetric uint8 activations, "
      "every "
      "method, int8 weights per channel. Then all operators or products only, and optimized rounding of the best.",
      [](const Options&) {
        return std::make_unique<Preset>(search_for({
            .target = "ort_cuda",
            .activations = {"UInt8Spec"},
            .methods = {"MinMax", "Percentile", "LayerwisePercentile", "Entropy", "MinMSE"},
            .more = {{"BiasCorrection", {true}}, {"form", {"all", "products"}}},
        }));
      }};
}

}  // namespace quasar::tune::presets
