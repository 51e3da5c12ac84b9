#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> w4a8_channel() {
  return {"uint8 activations, int4 weights with one scale per output channel: for other processors, simulated in float on CPUs.",
          [](const Options&) {
            return std::make_unique<SchemePreset>(Json{
                {"activation", "UInt8Spec"},
                {"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}},
                {"weight", "Int4Spec"},
                {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMSE"}, {"quant_granularity", "Channel"}}}});
          },
          {},
          {"A8W4", "A8W4_CHANNEL", "W4A8"}};
}

}  // namespace quasar::quant::schemes
