// A program on the installed library: prints how many nodes a model has.
#include <iostream>

#include "quasar/graph/load.hpp"

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: consumer MODEL.onnx\n";
    return 1;
  }
  const quasar::graph::Model model = quasar::graph::load(arguments[1]);
  std::cout << model.nodes.size() << " nodes\n";
}
