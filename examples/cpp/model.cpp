#include <iostream>
#include <map>

#include "quasar/graph/load.hpp"

int main() {
  const quasar::graph::Model model = quasar::graph::load("digits.onnx");
  std::map<std::string, int> operators;
  for (const auto& node : model.nodes) operators[node.op_type]++;
  for (const auto& [type, count] : operators) std::cout << count << " " << type << "\n";
  std::cout << "opset " << model.opset() << "\n";
}
