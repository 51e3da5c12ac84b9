#include "quasar/runtime/weight_bytes.hpp"

namespace quasar::runtime {

size_t weight_bytes(const graph::Model& model) {
  size_t total = 0;
  for (const auto& [name, tensor] : model.initializers) total += bytes_of(tensor.type(), tensor.count());
  return total;
}

bool too_large_for_a_message(const graph::Model& model) {
  constexpr size_t most = size_t{1} << 30;
  return weight_bytes(model) > most;
}

}  // namespace quasar::runtime
