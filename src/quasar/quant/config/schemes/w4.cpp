#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> w4() {
  return {
      "Weights only: 4 bits, asymmetric, one scale per 32 inputs, for MatMul and Gemm (MatMulNBits); the rest stays in float.",
      [](const Options&) {
        return std::make_unique<SchemePreset>(
            Json{{"activation", "Float32Spec"},
                 {"weight", "UInt4Spec"},
                 {"weight_params", {{"calibration_method", "MinMSE"}, {"quant_granularity", "Group"}, {"group_size", 32}}}});
      }};
}

}  // namespace quasar::quant::schemes
