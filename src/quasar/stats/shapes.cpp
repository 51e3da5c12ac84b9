#include "quasar/stats/shapes.hpp"

#include "quasar/runtime/prepare.hpp"

namespace quasar::stats {

std::map<std::string, Shape> known_shapes(const graph::Model& model) {
  std::map<std::string, Shape> out;
  for (const auto& [name, value] : runtime::value_types(model)) {
    if (value.shape) out[name] = *value.shape;
  }
  return out;
}

}  // namespace quasar::stats
