#include "quasar/ops/open_sizes.hpp"

#include <algorithm>

namespace quasar::ops {

bool has_known_size(const graph::Value& output, const graph::Model& model) {
  if (!output.shape) return false;
  for (size_t i = 0; i < output.shape->size(); ++i) {
    if ((*output.shape)[i] >= 0) continue;
    const std::string symbol = i < output.symbols.size() ? output.symbols[i] : "";
    const bool is_known = !symbol.empty() && std::ranges::any_of(model.inputs, [&](const graph::Value& input) {
      return std::ranges::find(input.symbols, symbol) != input.symbols.end();
    });
    if (!is_known) return false;
  }
  return true;
}

bool chooses(const graph::Node& node) {
  return node.is("NonMaxSuppression") || node.is("NonZero") || node.is("Unique") || node.is("Compress");
}

}  // namespace quasar::ops
