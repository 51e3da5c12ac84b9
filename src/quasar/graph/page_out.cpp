#include "quasar/graph/page_out.hpp"

#include "quasar/base/system/mapping.hpp"

namespace quasar::graph {

void page_out(const Model& model) {
  for (const auto& [name, tensor] : model.initializers) quasar::page_out(tensor.bytes());
}

}  // namespace quasar::graph
