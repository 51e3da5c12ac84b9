#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> rtn_g32asym() {
  return {"Weights only: 4 bits, asymmetric, one scale per 32 inputs, to the nearest code.", [](const Options&) {
            return std::make_unique<SchemePreset>(Json{
                {"activation", "Float32Spec"},
                {"weight", "UInt4Spec"},
                {"weight_params",
                 {{"symmetric", false}, {"calibration_method", "MinMax"}, {"quant_granularity", "Group"}, {"group_size", 32}}},
                {"algorithms", "rtn"}});
          }};
}

}  // namespace quasar::quant::schemes
