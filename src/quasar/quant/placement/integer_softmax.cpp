#include "quasar/quant/placement/integer_softmax.hpp"

#include <algorithm>
#include <optional>

#include "quasar/base/digits.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/weight_memo.hpp"
#include "quasar/stats/shapes.hpp"

namespace quasar::quant {
namespace {

constexpr double limit = 1.75;  // of scale · 255 · length

int64_t along(const graph::Node& node, const Shape& shape) {
  const int64_t given = node.integer("axis", -1), axis = given < 0 ? given + static_cast<int64_t>(shape.size()) : given;
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size())) return 0;
  return std::max<int64_t>(shape[static_cast<size_t>(axis)], 0);
}

}  // namespace

std::map<std::string, int64_t> softmax_lengths(const graph::Model& model, const stats::Statistics& seen, WeightMemo* memo) {
  std::map<std::string, int64_t> out;
  std::optional<std::map<std::string, Shape>> known;
  for (const auto& node : model.nodes) {
    if (!node.is("Softmax")) continue;
    const std::string& value = node.outputs.front();
    if (const auto found = seen.find(value); found != seen.end() && !found->second.shape.empty()) {
      out[node.name] = along(node, found->second.shape);
      continue;
    }
    if (!known) known = memo != nullptr ? memo->shapes(model) : stats::known_shapes(model);
    const auto found = known->find(value);
    out[node.name] = found == known->end() ? 0 : along(node, found->second);
  }
  return out;
}

std::string obstacle_to_integer_softmax(int64_t length) {
  if (length > 1) return "";
  return length == 1 ? "its axis has one element, for which ONNX Runtime's integer Softmax gives 0"
                     : "its axis may have one element, for which ONNX Runtime's integer Softmax gives 0";
}

double least_range_of_softmax(int64_t length) {
  return length == 2 ? 1 : 2.25 / static_cast<double>(std::max<int64_t>(length, 3));
}

std::vector<std::string> notes_on_softmax(const graph::Model& model, const Plan& plan,
                                          const std::map<std::string, int64_t>& lengths) {
  std::vector<std::string> notes;
  for (const auto& node : model.nodes) {
    const auto length = lengths.find(node.name);
    const auto output = node.is("Softmax") ? plan.values.find(node.outputs.front()) : plan.values.end();
    if (length == lengths.end() || output == plan.values.end() || !plan.nodes.contains(node.name)) continue;
    if (!is_integer(output->second.type) || bits_of(output->second.type) != 8) continue;
    const double covered = 255 * static_cast<double>(output->second.scales.front());
    const double least = limit / static_cast<double>(std::max<int64_t>(length->second, 1));
    if (covered < least)
      notes.push_back(node.name + ": the output's scale is " + in_digits(covered / 255, 4) +
                      "; ONNX Runtime's integer Softmax over " + std::to_string(length->second) +
                      " elements gives wrong probabilities below " + in_digits(least / 255, 4));
  }
  return notes;
}

}  // namespace quasar::quant
