#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> a8w8() {
  return {"int8 activations and weights, both symmetric, one scale per tensor.", [](const Options&) {
            return std::make_unique<SchemePreset>(Json{
                {"activation", "Int8Spec"},
                {"activation_params", {{"symmetric", true}, {"calibration_method", "MinMax"}}},
                {"weight", "Int8Spec"},
                {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Tensor"}}}});
          }};
}

}  // namespace quasar::quant::schemes
