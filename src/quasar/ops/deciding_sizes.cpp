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
      {"Range", {0, 1, 2}}, {"ConstantOfShape", {0}}, {"Expand", {1}}, {"Reshape", {1}}, {"Tile", {1}}};
  return all;
}

bool is_of_types(const graph::Node& node, std::initializer_list<std::string_view> types) {
  return std::ranges::any_of(types, [&](std::string_view type) { return node.is(type); });
}

// What operators that choose give, and what is computed of it: how many boxes there are says nothing of a length.
std::set<std::string> chosen_values(const graph::Model& model) {
  std::set<std::string> out;
  const auto is_chosen = [&](const std::string& value) { return out.contains(value); };
  for (const auto& node : model.nodes) {
    if (chooses(node) || node.is("TopK") || std::ranges::any_of(node.inputs, is_chosen) ||
        std::ranges::any_of(node.captures, is_chosen))
      out.insert(node.outputs.begin(), node.outputs.end());
  }
  out.erase("");
  return out;
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
  const std::set<std::string> chosen = chosen_values(model);
  const auto ends = [&](const graph::Node& node) {
    return is_of_types(node, {"Shape", "Size", "If", "Loop", "Scan"}) ||
           std::ranges::any_of(node.outputs, [&](const std::string& value) { return chosen.contains(value); });
  };
  for (const graph::Node* node : behind(index, sizes, ends)) out.insert(node->name);
  return out;
}

}  // namespace quasar::ops
