#include <iostream>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/session.hpp"

int main() {
  const quasar::graph::Model model = quasar::graph::load("digits.onnx");
  const auto samples = quasar::data::open({{"reader", "npz"}, {"path", "evaluation.npz"}, {"labels", "label"}}, model.inputs);
  const quasar::data::Sample first = samples->at(0);  // one tensor per input of the model
  std::cout << samples->size() << " samples of " << quasar::to_string(first[0].shape()) << " " << quasar::name_of(first[0].type())
            << "\n";

  const quasar::runtime::Session session(model);
  const auto outputs = session.run(first);
  std::cout << "outputs " << quasar::to_string(outputs[0].shape()) << ", label " << *samples->label(0) << "\n";
}
