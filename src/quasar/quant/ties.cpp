#include "quasar/quant/ties.hpp"

#include <algorithm>

#include "quasar/graph/lookup.hpp"

namespace quasar::quant {

namespace {

// Whether the node is a HardSigmoid in the quantized model, with the limits of one.
bool has_limits(const graph::Node& node, const Switches& switches, bool npu) {
  if (!is_on(switches, "AdjustHardSigmoid", npu)) return false;
  const bool replaced = is_on(switches, "SimulateDPU", npu) && is_on(switches, "ConvertSigmoidToHardSigmoid", npu);
  return node.is("HardSigmoid") || (node.is("Sigmoid") && replaced);
}

// What a pool and the activation that runs with it write: no pair stands between them.
const std::string* behind_activation(const graph::Node& pool, const graph::Index& index, const Placement& placement) {
  const graph::Node* reader = graph::sole_reader(pool.outputs.front(), index);
  const ops::Roles* roles = placement.roles(reader);
  if (roles == nullptr) return nullptr;
  const bool curve = (reader->is("LeakyRelu") || reader->is("PRelu")) && !placement.values.contains(pool.outputs.front());
  return curve || roles->kind == ops::Kind::activation ? &reader->outputs.front() : nullptr;
}

}  // namespace

Ties::Ties(const graph::Index& index, const Placement& placement, const Target& target, const Switches& switches, bool npu) {
  std::set<std::string> aligned;  // a value of every alignment
  std::vector<const graph::Node*> concats;
  for (const auto& [name, roles] : placement.nodes) {
    const graph::Node& node = *index.node(name);
    if (has_limits(node, switches, npu)) bounded_.insert(node.outputs.front());
    const bool pool = (node.is("AveragePool") || node.is("GlobalAveragePool")) && is_on(switches, "AlignPool", npu);
    if (node.is("Concat") && (is_on(switches, "AlignConcat", npu) || target.unifies(node))) {
      concats.push_back(&node);
    } else if (target.unifies(node)) {
      bind_inputs(node, roles, placement, aligned);
    } else if (roles.kind == ops::Kind::movement || pool) {
      bind_all(node, placement, roles.activations);
      for (const size_t input : roles.activations) {
        if (pool) aligned.insert(node.inputs[input]);
      }
      const std::string* written = pool ? behind_activation(node, index, placement) : nullptr;
      if (written != nullptr && placement.values.contains(*written)) bind(*written, node.inputs.front());
    }
  }
  bind_concats(std::move(concats), placement, aligned);
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

bool Ties::bounded(const std::string& value) const {
  const std::string top = root(value);
  return std::ranges::any_of(bounded_, [&](const std::string& other) { return root(other) == top; });
}

void Ties::bind_all(const graph::Node& node, const Placement& placement, const std::vector<size_t>& inputs) {
  for (const size_t input : inputs) {
    if (!placement.values.contains(node.inputs[input])) continue;  // a constant
    for (const auto& output : node.outputs) {
      if (placement.values.contains(output)) bind(output, node.inputs[input]);
    }
  }
}

void Ties::bind_inputs(const graph::Node& node, const ops::Roles& roles, const Placement& placement,
                       std::set<std::string>& aligned) {
  std::vector<std::string> values;
  for (const size_t input : roles.activations) {
    if (placement.values.contains(node.inputs[input])) values.push_back(node.inputs[input]);
  }
  if (values.size() < 2) return;
  for (const auto& value : values) bind(value, values.front());
  aligned.insert(values.begin(), values.end());
}

// Those that join HardSigmoids only are such values themselves; among others HardSigmoids stay apart.
void Ties::bind_concats(std::vector<const graph::Node*> concats, const Placement& placement, std::set<std::string>& aligned) {
  const auto joins_bounded = [&](const graph::Node* node) {
    return std::ranges::all_of(node->inputs, [&](const std::string& input) { return bounded(input); });
  };
  for (auto next = std::ranges::find_if(concats, joins_bounded); next != concats.end();
       next = std::ranges::find_if(concats, joins_bounded)) {
    bind_all(**next, placement, placement.roles(*next)->activations);
    aligned.insert((*next)->inputs.begin(), (*next)->inputs.end());
    concats.erase(next);
  }
  for (const graph::Node* node : concats) {
    const bool written = placement.values.contains(node->outputs.front());
    std::vector<size_t> inputs;
    for (const size_t input : placement.roles(node)->activations) {
      if (written && bounded(node->inputs[input])) {
        apart_.emplace(node->inputs[input], node->name);
      } else {
        inputs.push_back(input);
        aligned.insert(node->inputs[input]);
      }
    }
    bind_all(*node, placement, inputs);
  }
}

void Ties::bind(const std::string& a, const std::string& b) {
  const std::string low = std::min(root(a), root(b)), high = std::max(root(a), root(b));
  if (low != high) parent_[high] = low;
}

}  // namespace quasar::quant
