#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> gptq_g32asym_disable_last_matmul() {
  return {"GPTQ_G32ASYM with the last matrix product left in float.", [](const Options&) {
            return std::make_unique<SchemePreset>(Json{
                {"activation", "Float32Spec"},
                {"weight", "UInt4Spec"},
                {"weight_params",
                 {{"symmetric", false}, {"calibration_method", "MinMax"}, {"quant_granularity", "Group"}, {"group_size", 32}}},
                {"algorithms", "gptq"},
                {"last_conv_or_matmul_quantization", false}});
          }};
}

}  // namespace quasar::quant::schemes
