#include "quasar/quant/config/config.hpp"

namespace quasar::quant::schemes {

Entry<SchemePreset> s8s8_tensorrt() {
  return {
      "int8 symmetric activations, int8 weights with one scale per output channel, float biases, one scale for what a Concat "
      "joins: the usual choice for TensorRT.",
      [](const Options&) {
        return std::make_unique<SchemePreset>(
            Json{{"activation", "Int8Spec"},
                 {"activation_params", {{"symmetric", true}, {"calibration_method", "MinMax"}}},
                 {"QuantizeBias", false},
                 {"AlignConcat", true},
                 {"weight", "Int8Spec"},
                 {"weight_params", {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Channel"}}}});
      }};
}

}  // namespace quasar::quant::schemes
