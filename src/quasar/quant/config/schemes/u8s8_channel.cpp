#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> u8s8_channel() {
  return {
      "uint8 asymmetric activations, int8 weights with one scale per output channel, corrected biases: the safe default on x86 "
      "CPUs.",
      [](const Options&) {
        return std::make_unique<SchemePreset>(
            Json{{"activation", "UInt8Spec"},
                 {"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}},
                 {"BiasCorrection", true},
                 {"weight", "Int8Spec"},
                 {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Channel"}}}});
      },
      {},
      {"w8a8"}};
}

}  // namespace quasar::quant::schemes
