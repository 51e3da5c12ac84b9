#include "quasar/strategy/operator_groups.hpp"

#include <algorithm>
#include <set>

#include "quasar/ops/op.hpp"

namespace quasar::tune {
namespace {

class Grouping {
 public:
  Grouping(const graph::Model& model, const std::vector<std::string>& nodes)
      : model_(model), index_(model), own_(nodes.begin(), nodes.end()) {}

  OperatorGroups run(size_t most) {
    for (const auto& node : model_.nodes) {
      if (own_.contains(node.name)) place(node);
    }
    std::erase_if(groups_, [](const auto& group) { return group.empty(); });
    OperatorGroups out;
    join(most);
    out.nodes = groups_;
    for (size_t g = 0; g < out.nodes.size(); g++) {
      for (const auto& node : out.nodes[g]) out.of_node[node] = g;
    }
    follow(out);
    out.neighbours = neighbours(out);
    return out;
  }

 private:
  // Neighbours in order, the smallest first.
  void join(size_t most) {
    while (groups_.size() > std::max<size_t>(most, 1)) {
      size_t best = 0;
      const auto together = [&](size_t g) { return groups_[g].size() + groups_[g + 1].size(); };
      for (size_t g = 1; g + 1 < groups_.size(); g++) {
        if (together(g) < together(best)) best = g;
      }
      std::ranges::move(groups_[best + 1], std::back_inserter(groups_[best]));
      groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
  }

  void place(const graph::Node& node) {
    std::string why;
    const auto roles = ops::roles_of(node, model_, why);
    const std::string shared = roles && roles->weight ? node.inputs[roles->weight->input] : "";
    std::optional<size_t> group;
    if (const auto known = by_weight_.find(shared); !shared.empty() && known != by_weight_.end()) {
      group = known->second;
    } else if (roles && roles->kind == ops::Kind::elementwise && !roles->weight && roles->activations.size() > 1) {
      group = last_before(node);
    }
    if (!group) {
      group = groups_.size();
      groups_.emplace_back();
    }
    groups_[*group].push_back(node.name);
    places_[node.name] = *group;
    if (!shared.empty()) by_weight_[shared] = *group;
  }

  // Of what the node reads, that which is computed last.
  std::optional<size_t> last_before(const graph::Node& node) const {
    std::optional<size_t> last;
    for (const auto& input : node.inputs) {
      const graph::Node* writer = index_.producer(input);
      while (writer != nullptr && !places_.contains(writer->name))
        writer = writer->inputs.empty() ? nullptr : index_.producer(writer->inputs.front());
      if (writer != nullptr) last = std::max(last.value_or(0), places_.at(writer->name));
    }
    return last;
  }

  void follow(OperatorGroups& out) const {
    for (const auto& node : model_.nodes) {  // in topological order
      if (out.of_node.contains(node.name) || node.inputs.empty()) continue;
      const graph::Node* writer = index_.producer(node.inputs.front());
      if (writer != nullptr && out.of_node.contains(writer->name)) out.of_node[node.name] = out.of_node.at(writer->name);
    }
  }

  std::vector<std::pair<size_t, size_t>> neighbours(const OperatorGroups& groups) const {
    std::set<std::pair<size_t, size_t>> out;
    for (const auto& node : model_.nodes) {
      std::set<size_t> met;
      if (const auto own = groups.of_node.find(node.name); own != groups.of_node.end()) met.insert(own->second);
      for (const auto& input : node.inputs) {
        const graph::Node* writer = index_.producer(input);
        if (writer != nullptr && groups.of_node.contains(writer->name)) met.insert(groups.of_node.at(writer->name));
      }
      for (const size_t a : met) {
        for (const size_t b : met) {
          if (a < b) out.emplace(a, b);
        }
      }
    }
    return {out.begin(), out.end()};
  }

  const graph::Model& model_;
  const graph::Index index_;
  const std::set<std::string> own_;
  std::vector<std::vector<std::string>> groups_;
  std::map<std::string, size_t> places_, by_weight_;
};

}  // namespace

OperatorGroups operator_groups(const graph::Model& model, const std::vector<std::string>& nodes, size_t most) {
  return Grouping(model, nodes).run(most);
}

}  // namespace quasar::tune
