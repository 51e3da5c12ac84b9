#include "quasar/rounding/normalization.hpp"

#include <algorithm>

#include "quasar/quant/graph_questions.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_steps = 8;

bool is_last_axis(const std::vector<int64_t>& axes) {
  return axes == std::vector<int64_t>{-1};
}

// axis −1, or an axis from the front that must be the last, as gains have one axis for each that is normalized.
bool is_over_last_axis(const graph::Node& norm, const graph::Index& index) {
  if (norm.integer("axis", -1) == -1) return true;
  const Tensor* gains = norm.inputs.size() > 1 ? index.model().initializer(norm.inputs[1]) : nullptr;
  return gains != nullptr && gains->shape().size() == 1;
}

// Of a node that reads the value.
bool normalizes(const graph::Node& node, const std::string& value, const graph::Index& index) {
  if (node.inputs.empty() || node.inputs[0] != value) return false;
  if (node.is("LayerNormalization")) return is_over_last_axis(node, index);
  if (!node.is("ReduceMean")) return false;
  const auto axes = quant::reduced_axes(node, index.model(), 0);
  const auto takes_off = [&](const graph::Node* other) {
    return other->is("Sub") && other->inputs[0] == value && other->inputs[1] == node.outputs[0];
  };
  return axes && is_last_axis(*axes) && std::ranges::any_of(index.consumers(value), takes_off);
}

}  // namespace

std::string normalized_value(const std::string& output, const graph::Index& index) {
  std::string value = output;
  for (size_t step = 0; step < most_steps; step++) {
    const auto& readers = index.consumers(value);
    if (std::ranges::any_of(readers, [&](const graph::Node* reader) { return normalizes(*reader, value, index); })) return value;
    const auto next = std::ranges::find_if(readers, [&](const graph::Node* reader) {
      return reader->is("Add") || (reader->is("Reshape") && reader->inputs[0] == value);
    });
    if (next == readers.end()) return "";
    value = (*next)->outputs[0];
  }
  return "";
}

std::vector<float> weights_of_rows(const Tensor& value) {
  const auto columns = static_cast<size_t>(value.shape().empty() ? 0 : value.shape().back());
  if (columns == 0) return {};
  const auto values = value.as<float>();
  std::vector<float> out(values.size() / columns);
  for (size_t row = 0; row < out.size(); row++) {
    double sum = 0, squares = 0;
    for (const float x : values.subspan(row * columns, columns)) {
      sum += static_cast<double>(x);
      squares += static_cast<double>(x) * static_cast<double>(x);
    }
    const double mean = sum / static_cast<double>(columns);
    const double variance = std::max(squares / static_cast<double>(columns) - mean * mean, 0.0);
    out[row] = static_cast<float>(1 / (variance + 1e-5));  // 1e-5: the usual epsilon of LayerNormalization
  }
  return out;
}

}  // namespace quasar::tune
