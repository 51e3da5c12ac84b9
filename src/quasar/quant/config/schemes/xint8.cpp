#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> xint8() {
  return {"int8 activations and weights with power-of-two scales, symmetric, one per tensor, least squared error.",
          [](const Options&) {
            return std::make_unique<SchemePreset>(
                Json{{"activation", "XInt8Spec"},
                     {"activation_params", {{"calibration_method", "MinMSE"}}},
                     {"weight", "XInt8Spec"},
                     {"weight_params", {{"calibration_method", "MinMSE"}, {"quant_granularity", "Tensor"}}}});
          }};
}

}  // namespace quasar::quant::schemes
