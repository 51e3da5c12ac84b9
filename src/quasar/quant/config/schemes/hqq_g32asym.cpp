#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> hqq_g32asym() {
  return {"Weights only: 4 bits, one scale per 32 inputs, half-quadratic zero points that are no integers.", [](const Options&) {
            return std::make_unique<SchemePreset>(Json{
                {"activation", "Float32Spec"},
                {"weight", "UInt4Spec"},
                {"weight_params",
                 {{"symmetric", false}, {"calibration_method", "HQQ"}, {"quant_granularity", "Group"}, {"group_size", 32}}}});
          }};
}

}  // namespace quasar::quant::schemes
