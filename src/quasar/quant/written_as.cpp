#include "quasar/quant/written_as.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "quasar/graph/lookup.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t opset_of_hard_swish = 14;

// The HardSigmoid of x that alone this Mul multiplies by x; nullptr: it is another product.
const graph::Node* gate_of(const graph::Node& mul, const graph::Index& index) {
  if (!mul.is("Mul") || mul.inputs.size() != 2) return nullptr;
  for (const size_t side : {0, 1}) {
    const graph::Node* const gate = index.producer(mul.inputs[side]);
    if (gate == nullptr || !gate->is("HardSigmoid") || gate->inputs.front() != mul.inputs[1 - side]) continue;
    const bool usual =
        std::abs(gate->real("alpha", 0.2F) - 1.0F / 6) < 1e-5F && std::abs(gate->real("beta", 0.5F) - 0.5F) < 1e-5F;
    if (usual && graph::sole_reader(gate->outputs.front(), index) == &mul) return gate;
  }
  return nullptr;
}

bool has_small_slopes(const graph::Node& prelu, const graph::Model& model) {
  const Tensor* const slopes = prelu.inputs.size() == 2 ? model.initializer(prelu.inputs[1]) : nullptr;
  return slopes != nullptr && slopes->type() == DataType::float32 &&
         std::ranges::all_of(slopes->as<float>(), [](float slope) { return slope <= 1; });
}

void write_hard_swishes(graph::Model& model, const std::map<std::string, WrittenAs>& chosen) {
  std::map<std::string, std::string> inputs;  // of the Muls
  std::set<std::string> gone;
  const graph::Index index(model);
  for (const auto& [name, form] : chosen) {
    const graph::Node* const mul = form == WrittenAs::hard_swish ? index.node(name) : nullptr;
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

void write_larger_of_two(graph::Model& model, const std::map<std::string, WrittenAs>& chosen) {
  graph::Names names(model);
  std::vector<graph::Node> nodes;
  for (auto& node : model.nodes) {
    const auto found = chosen.find(node.name);
    if (node.is("PRelu") && found != chosen.end() && found->second == WrittenAs::larger_of_two) {
      graph::Node product = node;
      product.op_type = "Mul";
      product.name = names.fresh(node.name + "_times_slope");
      product.outputs = {names.fresh(node.outputs[0] + "_times_slope")};
      node.op_type = "Max";
      node.inputs[1] = product.outputs[0];
      nodes.push_back(std::move(product));
    }
    nodes.push_back(std::move(node));
  }
  model.nodes = std::move(nodes);
}

}  // namespace

std::map<std::string, WrittenAs> find_written_as(const graph::Index& index, const Target& target,
                                                 const std::map<std::string, NodePlan>& quantized) {
  std::map<std::string, WrittenAs> out;
  const bool swish = target.has_hard_swish() && index.model().opset() >= opset_of_hard_swish;
  for (const auto& node : index.model().nodes) {
    if (quantized.contains(node.name)) {
      if (node.is("HardSigmoid") && !target.has_hard_sigmoid()) out[node.name] = WrittenAs::clipped_sum;
      continue;
    }
    if (target.has_slow_prelu() && node.is("PRelu") && has_small_slopes(node, index.model()))
      out[node.name] = WrittenAs::larger_of_two;
    const graph::Node* const gate = swish ? gate_of(node, index) : nullptr;
    if (gate != nullptr && !quantized.contains(gate->name)) out[node.name] = WrittenAs::hard_swish;
  }
  return out;
}

void write_as(graph::Model& model, const std::map<std::string, WrittenAs>& chosen) {
  if (chosen.empty()) return;
  write_hard_swishes(model, chosen);
  write_larger_of_two(model, chosen);
}

}  // namespace quasar::quant
