#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> gptq_g128asym() {
  return {"Weights only: 4 bits, asymmetric, one scale per 128 inputs, rounded by GPTQ.", [](const Options&) {
            return std::make_unique<SchemePreset>(Json{
                {"activation", "Float32Spec"},
                {"weight", "UInt4Spec"},
                {"weight_params",
                 {{"symmetric", false}, {"calibration_method", "MinMax"}, {"quant_granularity", "Group"}, {"group_size", 128}}},
                {"algorithms", "gptq"}});
          }};
}

}  // namespace quasar::quant::schemes
