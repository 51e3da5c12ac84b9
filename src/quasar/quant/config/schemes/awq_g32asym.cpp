#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> awq_g32asym() {
  return {
      "Weights only: 4 bits, asymmetric, one scale per 32 inputs, channels with large inputs finer (AWQ).", [](const Options&) {
        return std::make_unique<SchemePreset>(
            Json{{"activation", "Float32Spec"},
                 {"weight", "UInt4Spec"},
                 {"weight_params",
                  {{"symmetric", false}, {"calibration_method", "MinMax"}, {"quant_granularity", "Group"}, {"group_size", 32}}},
                 {"algorithms", "awq"}});
      }};
}

}  // namespace quasar::quant::schemes
