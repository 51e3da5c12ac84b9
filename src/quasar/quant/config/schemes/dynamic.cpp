#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> dynamic() {
  return {"MatMul, Gemm, LSTM and Gather: int8 weights per channel, activations quantized at run time; needs no calibration.",
          [](const Options&) {
            return std::make_unique<SchemePreset>(Json{
                {"activation", "DynamicSpec"},
                {"weight", "Int8Spec"},
                {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Channel"}}}});
          }};
}

}  // namespace quasar::quant::schemes
