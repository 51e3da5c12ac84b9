#include "quasar/quant/write/pair_before_subgraphs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "quasar/graph/bodies.hpp"

namespace quasar::quant {
namespace {

// Those that the optimizer moves a DequantizeLinear along; each gives values of its input as they are.
bool is_passed(const graph::Node& node) {
  constexpr std::array all = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice", "MaxPool"};
  return std::ranges::any_of(all, [&](const char* type) { return node.is(type); });
}

// The DequantizeLinear whose values come to this one through operators that only move them, at least one; nullptr: none.
const graph::Node* moved_from(const std::string& value, const graph::Index& index) {
  bool moved = false;
  const graph::Node* node = index.producer(value);
  while (node != nullptr && !node->inputs.empty() && node->op_type != "DequantizeLinear") {
    const bool goes = node->is("Identity") || node->is("Dropout");  // the optimizer removes these first
    if (!goes && !is_passed(*node)) return nullptr;
    moved = moved || !goes;
    node = index.producer(node->inputs[0]);
  }
  return moved ? node : nullptr;
}

bool has_one_scale(const graph::Node& pair, const graph::Model& model) {
  const Tensor* scale = pair.inputs.size() == 3 ? model.initializer(pair.inputs[1]) : nullptr;
  const Tensor* zero_point = scale == nullptr ? nullptr : model.initializer(pair.inputs[2]);
  return zero_point != nullptr && scale->count() == 1 && zero_point->type() != DataType::int32;
}

// Values that a graph within the one that gives them reads.
std::set<std::string> captured_values(const graph::Model& model) {
  std::map<std::string, std::string> homes;  // value -> the body that gives it
  for (const auto& node : model.nodes) {
    for (const auto& output : node.outputs) homes[output] = node.inside;
  }
  std::set<std::string> out;
  for (const auto& node : model.nodes) {
    const auto reads = [&](const std::string& value, const std::string& inside) {
      const auto home = homes.find(value);
      if (home != homes.end() && home->second != inside) out.insert(value);
    };
    if (node.bodies == nullptr) {
      out.insert(node.captures.begin(), node.captures.end());
    } else {
      for (const auto& body : *node.bodies) {
        for (const auto& output : body.outputs) reads(output.name, graph::id_of(node, body));
      }
    }
    if (node.domain == graph::entry_domain) continue;  // it reads what the operator does
    for (const auto& input : node.inputs) reads(input, node.inside);
  }
  return out;
}

}  // namespace

void pair_before_subgraphs(graph::Model& quantized) {
  const std::set<std::string> captured = captured_values(quantized);
  std::map<std::string, graph::Node> pairs;  // the value -> the DequantizeLinear that it comes from
  const graph::Index index(quantized);
  for (const auto& value : captured) {
    const graph::Node* from = moved_from(value, index);
    if (from == nullptr || !has_one_scale(*from, quantized)) continue;
    graph::Node& pair = pairs.emplace(value, *from).first->second;
    pair.inside = index.producer(value)->inside;
    pair.stays = true;
  }
  graph::Names names(quantized);
  for (const auto& [value, from] : pairs) {
    const std::string moved = names.fresh(value + "_moved"), codes = names.fresh(value + "_quantized");
    graph::Node quantize = from, dequantize = from;
    for (auto& node : quantized.nodes) std::ranges::replace(node.outputs, value, moved);
    quantize.name = names.fresh(value + "_QuantizeLinear");
    quantize.op_type = "QuantizeLinear";
    quantize.inputs[0] = moved;
    quantize.outputs = {codes};
    dequantize.name = names.fresh(value + "_DequantizeLinear");
    dequantize.inputs[0] = codes;
    dequantize.outputs = {value};
    quantized.nodes.push_back(std::move(quantize));
    quantized.nodes.push_back(std::move(dequantize));
  }
  if (!pairs.empty()) graph::sort_nodes(quantized);
}

}  // namespace quasar::quant
