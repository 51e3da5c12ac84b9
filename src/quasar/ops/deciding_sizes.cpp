#include "quasar/ops/deciding_sizes.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "quasar/ops/open_sizes.hpp"

namespace quasar::ops {
namespace {

// The inputs that say how many values an operator gives.
const std::map<std::string_view, std::vector<size_t>>& size_inputs() {
  static const std::map<std::string_view, std::vector<size_t>> all{
      {"Range", {0, 1, 2}}, {"ConstantOfShape", {0}}, {"Expand", {1}}, {"Reshape", {1}},
      {"Tile", {1}},        {"Slice", {1, 2, 3, 4}},  {"Pad", {1}},    {"Resize", {2, 3}}};
  return all;
}

bool ends_the_way(const graph::Node& node) {
  return std::ranges::any_of(
      std::vector<std::string_view>{"Shape", "Size", "NonMaxSuppression", "NonZero", "Unique", "Compress", "TopK"},
      [&](std::string_view type) { return node.is(type); });
}

// Nodes from which a value of `from` comes, with all that `stops` does not end.
template <typename Stops>
std::set<const graph::Node*> behind(const graph::Index& index, std::vector<std::string> from, const Stops& stops) {
  std::set<const graph::Node*> out;
  while (!from.empty()) {
    const graph::Node* node = index.producer(from.back());
    from.pop_back();
    if (node == nullptr || stops(*node) || !out.insert(node).second) continue;
    from.insert(from.end(), node->inputs.begin(), node->inputs.end());
    from.insert(from.end(), node->captures.begin(), node->captures.end());
  }
  return out;
}

}  // namespace

std::set<std::string> nodes_deciding_sizes(const graph::Index& index) {
  const graph::Model& model = index.model();
  std::vector<std::string> open;
  for (const auto& output : model.outputs) {
    if (!has_known_size(output, model)) open.push_back(output.name);
  }
  if (open.empty()) return {};
  std::vector<std::string> sizes;
  for (const graph::Node* node : behind(index, open, [](const graph::Node&) { return false; })) {
    const auto found = node->domain.empty() ? size_inputs().find(node->op_type) : size_inputs().end();
    if (found == size_inputs().end()) continue;
    for (const size_t input : found->second) {
      if (input < node->inputs.size() && !node->inputs[input].empty()) sizes.push_back(node->inputs[input]);
    }
  }
  std::set<std::string> out;
  for (const graph::Node* node : behind(index, sizes, ends_the_way)) out.insert(node->name);
  return out;
}

}  // namespace quasar::ops
