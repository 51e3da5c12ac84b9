#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> w8a16() {
  return {
      "uint16 asymmetric activations, int8 weights with one scale per output channel, corrected biases: the usual choice for "
      "Qualcomm's NPU.",
      [](const Options&) {
        return std::make_unique<SchemePreset>(
            Json{{"activation", "UInt16Spec"},
                 {"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}},
                 {"BiasCorrection", true},
                 {"RangeMargin", 0.25},
                 {"weight", "Int8Spec"},
                 {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Channel"}}}});
      }};
}

}  // namespace quasar::quant::schemes
