#include "quasar/api/search.hpp"

#include <iostream>

int main() {
  const quasar::Json job{{"model_input", "digits.onnx"},
                         {"calib_data_reader", {{"reader", "npz"}, {"path", "calibration.npz"}, {"labels", "label"}}},
                         {"eval_data_reader", {{"reader", "npz"}, {"path", "evaluation.npz"}, {"labels", "label"}}},
                         {"search_metric", "L2"},
                         {"search_space",
                          {{"activation", {"UInt8Spec"}},
                           {"weight", {"Int8Spec"}},
                           {"weight_params", {{"quant_granularity", {"Tensor", "Channel"}}, {"only_if", "weight"}}}}},
                         {"output_dir", "found"}};
  const quasar::api::Found found = quasar::api::search(job);
  std::cout << found.result["status"].get<std::string>() << " after " << found.trials.size() << " trials\n";
  std::cout << "best: " << found.result["best"]["params"]["weight_params_quant_granularity"].get<std::string>() << "\n";
  std::cout << quasar::api::report(found.output_dir, "markdown").substr(0, 30) << "\n";
}
