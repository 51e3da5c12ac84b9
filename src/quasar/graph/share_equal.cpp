#include "quasar/graph/share_equal.hpp"

#include <algorithm>
#include <cstring>

#include "quasar/base/system/mapping.hpp"

namespace quasar::graph {
namespace {

bool are_same_mapped(const Tensor& one, const Tensor& other) {
  constexpr size_t step = size_t{4} << 20;
  if (one.type() != other.type() || one.shape() != other.shape() || one.type() == DataType::string) return one == other;
  const auto bytes = one.bytes(), others = other.bytes();
  bool same = true;
  for (size_t at = 0; same && at < bytes.size(); at += step) {
    const size_t size = std::min(step, bytes.size() - at);
    same = std::memcmp(bytes.data() + at, others.data() + at, size) == 0;
    quasar::page_out(bytes.subspan(at, size));
  }
  return same;
}

}  // namespace

void share_equal(Model& model, const Model& other, bool mapped) {
  for (auto& [name, tensor] : model.initializers) {
    const Tensor* known = other.initializer(name);
    if (known != nullptr && (mapped ? are_same_mapped(tensor, *known) : tensor == *known)) tensor = *known;
  }
}

}  // namespace quasar::graph
