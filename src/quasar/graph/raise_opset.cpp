#include "quasar/base/error.hpp"
#include "quasar/graph/load.hpp"

namespace quasar::graph {

Model raise_opset(Model model, int64_t version) {
  if (model.opset() >= version) return model;
  throw Error("the model's opset " + std::to_string(model.opset()) + " is below " + std::to_string(version));
}

}  // namespace quasar::graph
