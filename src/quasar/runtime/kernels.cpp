#include "quasar/runtime/kernels.hpp"

#include <algorithm>
#include <set>

#include "quasar/graph/bodies.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/rewritten.hpp"

namespace quasar::runtime {

graph::Model optimized(const graph::Model& model, bool on_arm) {
  SessionOptions options;
  options.signed_values = on_arm;
  options.optimization = Optimization::extended;
  options.exact_sums = false;
  return rewritten(model, options);
}

namespace {

bool is_code(DataType type) {
  switch (type) {
    case DataType::uint2:
    case DataType::int2:
    case DataType::uint4:
    case DataType::int4:
    case DataType::uint8:
    case DataType::int8:
    case DataType::uint16:
    case DataType::int16:
      return true;
    default:
      return false;
  }
}

// Follows a node of the quantized model into the optimized graph.
class Trace {
 public:
  Trace(const graph::Model& before, const graph::Model& after) : before_(before), after_(after), types_(value_types(after)) {}

  bool quantized(const graph::Node& node) {
    if (const graph::Node* kept = after_.node(node.name)) return computes_on_codes(*kept);
    if (const graph::Node* fused = named_after(node)) return computes_on_codes(*fused);
    if (const graph::Node* fused = fused_into(node)) return computes_on_codes(*fused);
    return quantized_before(node);
  }

 private:
  bool computes_on_codes(const graph::Node& node) const {
    if (node.is("Cast") || node.is("QuantizeLinear") || node.is("DequantizeLinear")) return false;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [this](const std::string& input) {
      if (const Tensor* weight = after_.model().initializer(input)) return is_code(weight->type());
      const auto found = types_.find(input);
      return found != types_.end() && is_code(found->second.type);
    });
  }

  // Fusions name what they make "<first node>/<fusion>"; nullptr: there is none.
  const graph::Node* named_after(const graph::Node& node) const {
    for (const auto& candidate : after_.model().nodes) {
      if (candidate.name.starts_with(node.name + "/") && before_.node(candidate.name) == nullptr) return &candidate;
    }
    return nullptr;
  }

  // The node of the optimized graph which gives what this node, and vanished ones behind it, gave; nullptr: not to be seen.
  const graph::Node* fused_into(const graph::Node& node) const {
    std::vector<const graph::Node*> front{&node};
    std::set<const graph::Node*> seen{&node};
    while (!front.empty()) {
      const graph::Node* current = front.back();
      front.pop_back();
      for (const auto& output : current->outputs) {
        if (const graph::Node* found = after_.producer(output)) return found;
        for (const graph::Node* next : before_.consumers(output)) {
          if (after_.node(next->name) == nullptr && seen.insert(next).second) front.push_back(next);
        }
      }
    }
    return nullptr;
  }

  // What holds for the node that gave the first input which is not constant, Q/DQ passed over.
  bool quantized_before(const graph::Node& node) {
    const graph::Node* previous = first_producer(node);
    while (previous != nullptr && (previous->op_type == "DequantizeLinear" || previous->op_type == "QuantizeLinear")) {
      previous = first_producer(*previous);
    }
    return previous != nullptr && quantized(*previous);
  }

  const graph::Node* first_producer(const graph::Node& node) const {
    for (const auto& input : node.inputs) {
      const graph::Node* producer = before_.producer(input);
      if (producer != nullptr && !constant(*producer)) return producer;
    }
    return nullptr;
  }

  // Of a weight's or a bias's Q/DQ.
  bool constant(const graph::Node& node) const {
    return !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), [this](const std::string& input) {
      const graph::Node* producer = before_.producer(input);
      return producer != nullptr ? constant(*producer) : before_.model().initializer(input) != nullptr;
    });
  }

  graph::Index before_, after_;
  std::map<std::string, graph::Value> types_;
};

}  // namespace

// In bodies too; pairs are where ONNX Runtime finds them.
std::map<std::string, bool> runs_quantized(const graph::Model& given, const std::vector<std::string>& nodes, bool on_arm) {
  const graph::Model quantized = graph::opened(graph::closed(given)), after = graph::opened(optimized(given, on_arm));
  Trace trace(quantized, after);
  const graph::Index index(quantized);
  std::map<std::string, bool> out;
  for (const auto& name : nodes) {
    const graph::Node* node = index.node(name);
    out[name] = node != nullptr && trace.quantized(*node);
  }
  return out;
}

}  // namespace quasar::runtime
