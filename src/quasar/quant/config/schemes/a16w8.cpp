#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> a16w8() {
  return {"int16 activations and int8 weights, both symmetric, one scale per tensor: for NPUs, simulated in float on CPUs.",
          [](const Options&) {
            return std::make_unique<SchemePreset>(Json{
                {"activation", "Int16Spec"},
                {"activation_params", {{"symmetric", true}, {"calibration_method", "MinMax"}}},
                {"weight", "Int8Spec"},
                {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Tensor"}}}});
          }};
}

}  // namespace quasar::quant::schemes
