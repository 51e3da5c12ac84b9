#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> k_quant_mixed() {
  return {"W4 with 8 bits for the last layer, and for down, query, key and value products of about half of all layers.",
          [](const Options&) {
            const Json some{{"weight", "UInt8Spec"}, {"layers", "k_quant"}};
            return std::make_unique<SchemePreset>(
                Json{{"activation", "Float32Spec"},
                     {"weight", "UInt4Spec"},
                     {"weight_params", {{"calibration_method", "MinMSE"}, {"quant_granularity", "Group"}, {"group_size", 32}}},
                     {"layer_kinds", {{"last", "UInt8Spec"}, {"down", some}, {"query_key_value", some}}}});
          }};
}

}  // namespace quasar::quant::schemes
