#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> a8w8_channel() {
  return {"int8 symmetric activations, int8 weights with one scale per output channel.", [](const Options&) {
            return std::make_unique<SchemePreset>(Json{
                {"activation", "Int8Spec"},
                {"activation_params", {{"symmetric", true}, {"calibration_method", "MinMax"}}},
                {"weight", "Int8Spec"},
                {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Channel"}}}});
          }};
}

}  // namespace quasar::quant::schemes
