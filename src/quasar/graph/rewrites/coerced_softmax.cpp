#include "quasar/graph/rewrites/coerced_softmax.hpp"

#include <onnx/onnx_pb.h>

namespace quasar::graph {
namespace {

using onnx::NodeProto;

constexpr int64_t default_axis = 1;

int64_t axis_of(const NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "axis") return attribute.i();
  }
  return default_axis;
}

void set_axis(NodeProto& node, int64_t axis) {
  node.clear_attribute();  // there is no other
  auto& attribute = *node.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(axis);
}

NodeProto make(const std::string& op, const std::string& name, std::initializer_list<std::string> inputs,
               const std::string& output) {
  NodeProto node;
  node.set_op_type(op);
  node.set_name(name);
  for (const auto& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

}  // namespace

bool is_coerced_softmax(const std::string& op) {
  return op == "Softmax" || op == "LogSoftmax" || op == "Hardmax";
}

std::vector<NodeProto> without_coercion(const NodeProto& node, const ConvertOptions& options) {
  const int64_t axis = axis_of(node);
  const auto rank = options.rank(node.input(0));
  NodeProto result = node;
  set_axis(result, -1);
  if (axis == -1 || (rank && axis == static_cast<int64_t>(*rank) - 1)) return {result};

  const std::string base = node.name().empty() ? node.output(0) : node.name();
  const auto fresh = [&](const std::string& suffix) { return options.fresh(base + suffix); };
  const std::string flat = fresh("_flat"), weighed = fresh("_flat_output"), shape = fresh("_shape");
  NodeProto flatten = make("Flatten", fresh("_Flatten"), {node.input(0)}, flat);
  set_axis(flatten, axis);
  result.set_input(0, flat);
  result.set_output(0, weighed);
  return {flatten, result, make("Shape", fresh("_Shape"), {node.input(0)}, shape),
          make("Reshape", fresh("_Reshape"), {weighed, shape}, node.output(0))};
}

}  // namespace quasar::graph
