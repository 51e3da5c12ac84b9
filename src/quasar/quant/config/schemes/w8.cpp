#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> w8() {
  return {
      "Weights only: 8 bits, symmetric, one scale per 128 inputs for MatMul and Gemm (MatMulNBits), one per gate and unit for "
      "LSTM "
      "and GRU; the rest stays in float.",
      [](const Options&) {
        return std::make_unique<SchemePreset>(
            Json{{"activation", "Float32Spec"},
                 {"weight", "Int8Spec"},
                 {"weight_params",
                  {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Group"}, {"group_size", 128}}}});
      }};
}

}  // namespace quasar::quant::schemes
