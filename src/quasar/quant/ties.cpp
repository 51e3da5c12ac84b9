#include "quasar/quant/ties.hpp"

namespace quasar::quant {

Ties::Ties(const graph::Index& index, const Placement& placement, const Switches& switches, bool npu) {
  std::set<std::string> aligned;  // a value of every alignment
  for (const auto& [name, roles] : placement.nodes) {
    const graph::Node& node = *index.node(name);
    const bool concat = node.is("Concat") && is_on(switches, "AlignConcat", npu);
    const bool pool = (node.is("AveragePool") || node.is("GlobalAveragePool")) && is_on(switches, "AlignPool", npu);
    if (roles.kind != ops::Kind::movement && !concat && !pool) continue;
    for (const size_t input : roles.activations) {
      if (!placement.values.contains(node.inputs[input])) continue;  // a constant
      for (const auto& output : node.outputs) {
        if (placement.values.contains(output)) bind(output, node.inputs[input]);
      }
      if (concat || pool) aligned.insert(node.inputs[input]);
    }
  }
  std::set<std::string> roots;
  for (const auto& value : aligned) roots.insert(root(value));
  for (const auto& value : placement.values) {
    if (const std::string top = root(value); roots.contains(top)) groups_[top].push_back(value);
  }
}

const std::vector<std::string>& Ties::aligned(const std::string& value) const {
  static const std::vector<std::string> none;
  const auto found = groups_.find(root(value));
  return found == groups_.end() ? none : found->second;
}

std::string Ties::root(const std::string& value) const {
  const auto found = parent_.find(value);
  return found == parent_.end() ? value : root(found->second);
}

void Ties::bind(const std::string& a, const std::string& b) {
  const std::string low = std::min(root(a), root(b)), high = std::max(root(a), root(b));
  if (low != high) parent_[high] = low;
}

}  // namespace quasar::quant
