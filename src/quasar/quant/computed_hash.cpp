#include "quasar/quant/computed_hash.hpp"

#include "quasar/base/hash.hpp"

namespace quasar::quant {
namespace {

// Quantized by the pairs around it, and by nothing of its own.
bool is_bare(const NodePlan& plan) {
  return plan == NodePlan{.least_weight_scale = plan.least_weight_scale};
}

}  // namespace

std::string hash_of_values(const graph::Model& model, const Plan& plan) {
  Json words = to_json(plan);
  for (const auto& [name, node] : plan.nodes) {
    if (is_bare(node)) words["nodes"].erase(name);
  }
  // Who reads a value as it was before its pair: where its producer is quantized, nobody does (plan.hpp, apply).
  const graph::Index index(model);
  for (const auto& [value, params] : plan.values) {
    const graph::Node* producer = index.producer(value);
    if (producer != nullptr && plan.nodes.contains(producer->name)) continue;
    for (const auto* reader : index.consumers(value)) {
      if (!plan.nodes.contains(reader->name)) words["exact"][value].push_back(reader->name);
    }
    if (index.is_output(value)) words["exact"][value].push_back(nullptr);
  }
  return quasar::hash_of(std::string_view(canonical(words)));
}

}  // namespace quasar::quant
