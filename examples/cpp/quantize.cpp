#include "quasar/api/quantize.hpp"

#include <iostream>

#include "quasar/base/error.hpp"
#include "quasar/graph/load.hpp"

int main() {
  try {
    const auto made =
        quasar::api::quantize({.model = "digits.onnx", .configuration = "U8S8_CHANNEL", .calibration = "calibration.npz"});
    quasar::graph::save(made.model, "int8.onnx");
    std::cout << made.facts["nodes"].size() << " operators are quantized\n";
    for (const auto& [name, why] : made.facts["skipped"].items()) std::cout << name << ": " << why << "\n";
    quasar::api::quantize({.model = "digits.onnx", .configuration = "U8S8_CHANEL"});
  } catch (const quasar::Error& error) {
    std::cout << error.what() << "\n";
  }
}
