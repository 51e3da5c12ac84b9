#include <algorithm>
#include <unordered_set>

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// One walk against the topological order: whoever reads a value stands behind its producer.
void remove_unused(Model& model) {
  std::unordered_set<std::string> read;
  for (const auto& output : model.outputs) read.insert(output.name);
  const auto is_read = [&](const std::string& value) { return !value.empty() && read.contains(value); };
  std::vector<Node> kept;
  for (auto node = model.nodes.rbegin(); node != model.nodes.rend(); ++node) {
    if (std::none_of(node->outputs.begin(), node->outputs.end(), is_read)) continue;
    read.insert(node->inputs.begin(), node->inputs.end());
    read.insert(node->captures.begin(), node->captures.end());
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  model.nodes = std::move(kept);
  std::erase_if(model.initializers, [&](const auto& item) { return !read.contains(item.first); });
}

}  // namespace quasar::graph
