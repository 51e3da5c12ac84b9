#include <iostream>

#include "quasar/api/quantize.hpp"

int main() {
  const quasar::Json words{{"activation", "UInt8Spec"},
                           {"activation_params", {{"calibration_method", "Percentile"}}},
                           {"weight", "Int8Spec"},
                           {"weight_params", {{"quant_granularity", "Channel"}, {"symmetric", true}}},
                           {"exclude", {{{"op_type", "Gemm"}}}}};
  const auto made = quasar::api::quantize({.model = "digits.onnx", .configuration = words, .calibration = "calibration.npz"});
  std::cout << made.facts["nodes"].size() << " operators are quantized\n";
  for (const auto& [name, why] : made.facts["skipped"].items()) std::cout << name << ": " << why << "\n";
}
