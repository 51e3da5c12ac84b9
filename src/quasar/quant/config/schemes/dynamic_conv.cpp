#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> dynamic_conv() {
  return {
      "As DYNAMIC, and convolutions of 16 inputs or more: a quarter of the size without calibration, seldom faster than float.",
      [](const Options&) {
        return std::make_unique<SchemePreset>(
            Json{{"activation", "DynamicSpec"},
                 {"weight", "Int8Spec"},
                 {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Channel"}}},
                 {"layer_type_config", {{{"activation", "DynamicSpec"}, {"op_types", {"Conv"}}}}}});
      }};
}

}  // namespace quasar::quant::schemes
