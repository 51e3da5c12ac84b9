#include "quasar/quant/write/hard_swish.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/quant/placement.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t first_opset = 14;

// The HardSigmoid of x that alone this Mul multiplies by x; nullptr: it is another product.
const graph::Node* gate_of(const graph::Node& mul, const graph::Index& index) {
  if (!mul.is("Mul") || mul.inputs.size() != 2) return nullptr;
  for (const size_t side : {0, 1}) {
    const graph::Node* const gate = index.producer(mul.inputs[side]);
    if (gate == nullptr || !gate->is("HardSigmoid") || gate->inputs.front() != mul.inputs[1 - side]) continue;
    const bool usual =
        std::abs(gate->real("alpha", 0.2F) - 1.0F / 6) < 1e-5F && std::abs(gate->real("beta", 0.5F) - 0.5F) < 1e-5F;
    if (usual && sole_reader(gate->outputs.front(), index) == &mul) return gate;
  }
  return nullptr;
}

}  // namespace

std::set<std::string> hard_swishes(const graph::Index& index, const std::map<std::string, NodePlan>& quantized) {
  std::set<std::string> out;
  if (index.model().opset() < first_opset) return out;
  for (const auto& node : index.model().nodes) {
    const graph::Node* const gate = gate_of(node, index);
    if (gate != nullptr && !quantized.contains(node.name) && !quantized.contains(gate->name)) out.insert(node.name);
  }
  return out;
}

void restore_hard_swishes(graph::Model& model, const std::set<std::string>& muls) {
  if (muls.empty()) return;
  std::map<std::string, std::string> inputs;  // of the Muls
  std::set<std::string> gone;
  const graph::Index index(model);
  for (const auto& name : muls) {
    const graph::Node* const mul = index.node(name);
    const graph::Node* const gate = mul == nullptr ? nullptr : gate_of(*mul, index);
    if (gate == nullptr) continue;
    inputs[name] = gate->inputs.front();
    gone.insert(gate->name);
  }
  std::erase_if(model.nodes, [&](const graph::Node& node) { return gone.contains(node.name); });
  for (auto& node : model.nodes) {
    const auto found = inputs.find(node.name);
    if (found == inputs.end()) continue;
    node.op_type = "HardSwish";
    node.inputs = {found->second};
    node.attributes.clear();
  }
}

}  // namespace quasar::quant
