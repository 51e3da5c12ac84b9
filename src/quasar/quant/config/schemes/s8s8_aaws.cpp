#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> s8s8_aaws() {
  return {
      "int8 asymmetric activations, int8 symmetric weights, one scale per tensor, percentiles (the default of Quark's Auto "
      "Search).",
      [](const Options&) {
        return std::make_unique<SchemePreset>(
            Json{{"activation", "Int8Spec"},
                 {"activation_params", {{"symmetric", false}, {"calibration_method", "Percentile"}}},
                 {"Percentile", 99.9999},
                 {"weight", "Int8Spec"},
                 {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Tensor"}}}});
      }};
}

}  // namespace quasar::quant::schemes
