#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> qnn_htp_search() {
  return {
      "Qualcomm's NPU. 24 calibrations, 14 of which differ: asymmetric uint16 or uint8 activations, int8 weights per channel. "
      "Then optimized "
      "rounding of the best.",
      [](const Options&) {
        return std::make_unique<Preset>(search_for({
            .target = "qnn_htp",
            .activations = {"UInt16Spec", "UInt8Spec"},
            .methods = {"MinMax", "Percentile", "MinMSE"},
            .more = {{"BiasCorrection", {true}}, {"RangeMargin", {0.25, 0.0}}},
        }));
      }};
}

}  // namespace quasar::tune::presets
