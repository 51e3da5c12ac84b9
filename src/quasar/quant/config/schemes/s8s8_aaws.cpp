#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> s8s8_aaws() {
  return {"int8 asymmetric activations, int8 symmetric weights, one scale per tensor (Quark's default for Auto Search).",
          [](const Options&) {
            return std::make_unique<SchemePreset>(Json{
                {"activation", "Int8Spec"},
                {"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}},
                {"weight", "Int8Spec"},
                {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Tensor"}}}});
          }};
}

}  // namespace quasar::quant::schemes
