#include "quasar/api/evaluate.hpp"

#include <iostream>

#include "quasar/api/quantize.hpp"
#include "quasar/graph/load.hpp"

int main() {
  const auto made =
      quasar::api::quantize({.model = "digits.onnx", .configuration = "U8S8_CHANNEL", .calibration = "calibration.npz"});
  quasar::graph::save(made.model, "int8.onnx");
  const quasar::Json samples{{"reader", "npz"}, {"path", "evaluation.npz"}, {"labels", "label"}};
  const quasar::Json scores =
      quasar::api::evaluate({.model = "int8.onnx", .reference = "digits.onnx", .data = samples, .metrics = {"cos", "top1"}});
  for (const auto& [name, score] : scores["metrics"].items()) {
    std::cout << name << " " << score["value"] << ", 95 %: " << score["low"] << " to " << score["high"] << "\n";
  }
}
