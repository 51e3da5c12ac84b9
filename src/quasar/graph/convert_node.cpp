// ONNX's version converter does the work, on a model of this one node: so it sees nothing that it would lose (unknown domains,
// subgraphs, functions, new types, documentation), and an error names the node. Some of its steps (libonnx 1.12) are wrong or
// incomplete; prepare() and complete() mend these before and after, softmax.cpp replaces one.
#include "quasar/graph/convert_node.hpp"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <array>

#include "quasar/base/error.hpp"
#include "quasar/graph/rewrites/coerced_softmax.hpp"
#include "quasar/graph/rewrites/dropped_operators.hpp"

namespace quasar::graph {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

const AttributeProto* find(const NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

void remove(NodeProto& node, std::string_view name) {
  auto& attributes = *node.mutable_attribute();
  attributes.erase(std::remove_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.name() == name; }),
                   attributes.end());
}

void set_text(NodeProto& node, const std::string& name, const std::string& value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s(value);
}

// The converter takes numbers, strings, tensors and lists of these.
bool is_plain(const AttributeProto& attribute) {
  constexpr std::array plain{AttributeProto::INT,  AttributeProto::FLOAT,  AttributeProto::STRING, AttributeProto::TENSOR,
                             AttributeProto::INTS, AttributeProto::FLOATS, AttributeProto::STRINGS};
  return std::find(plain.begin(), plain.end(), attribute.type()) != plain.end();
}

// Whether the operator's definition differs between the two opsets (operators that libonnx does not know stay as they are).
bool changes(const std::string& op, const ConvertOptions& options) {
  const auto* before = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(options.from), "");
  const auto* after = onnx::OpSchemaRegistry::Schema(op, static_cast<int>(options.to), "");
  return before != nullptr && after != nullptr && before->since_version() != after->since_version();
}

// Pad 2 -> 11: the converter wants `value`, whose default is 0, and leaves it in modes that do not know it any more.
void prepare_pad(NodeProto& node) {
  const auto* mode = find(node, "mode");
  if (mode != nullptr && mode->s() != "constant") return remove(node, "value");
  if (find(node, "value") != nullptr) return;
  auto& value = *node.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::FLOAT);
  value.set_f(0);
}

void prepare(NodeProto& node, const ConvertOptions& options) {
  if (node.op_type() == "Pad" && options.from < 11 && options.to >= 11) prepare_pad(node);
  if (node.op_type() == "Scan" && options.from < 9) throw Error("the batch axis that Scan had in opset 8 has no equivalent");
}

bool is_nearest(const NodeProto& resize) {
  const auto* mode = find(resize, "mode");
  return mode == nullptr || mode->s() == "nearest";
}

// Resize 10 -> 11: what used to be fixed became attributes with other defaults. Version 10 does not say how "nearest" rounds;
// ONNX Runtime rounds up along an axis that shrinks and down along one that grows.
void complete_resize(NodeProto& node, bool shrinks) {
  set_text(node, "coordinate_transformation_mode", "asymmetric");
  if (is_nearest(node)) set_text(node, "nearest_mode", shrinks ? "ceil" : "floor");
}

// A model of the one node, with values called i0, i1 … and o0, o1 …; attributes that are not plain are left out.
onnx::ModelProto model_around(const NodeProto& node, int64_t opset) {
  onnx::ModelProto model;
  model.set_ir_version(7);
  auto& import = *model.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
  auto& graph = *model.mutable_graph();
  graph.set_name("node");
  auto& inner = *graph.add_node();
  inner.set_op_type(node.op_type());
  for (int i = 0; i < node.input_size(); ++i) {
    const std::string name = node.input(i).empty() ? "" : "i" + std::to_string(i);
    inner.add_input(name);
    if (!name.empty()) graph.add_input()->set_name(name);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    inner.add_output("o" + std::to_string(i));
    graph.add_output()->set_name(inner.output(i));
  }
  for (const auto& attribute : node.attribute()) {
    if (is_plain(attribute)) *inner.add_attribute() = attribute;
  }
  return model;
}

// The converter reads inputs and attributes without looking whether they are there or of which type they are.
void check(const NodeProto& node, int64_t opset) {
  onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), "")->Verify(node);
}

onnx::GraphProto converted_graph(const NodeProto& node, const ConvertOptions& options) {
  static const onnx::version_conversion::DefaultVersionConverter converter;
  const onnx::ModelProto model = model_around(node, options.from);
  return converter.convert_version(model, onnx::OpSetID(options.from), onnx::OpSetID(options.to)).graph();
}

NodeProto constant_node(const std::string& name, const std::string& output, const onnx::TensorProto& tensor) {
  NodeProto node;
  node.set_name(name);
  node.set_op_type("Constant");
  node.add_output(output);
  auto& value = *node.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  *value.mutable_t() = tensor;
  value.mutable_t()->clear_name();
  return node;
}

// Puts the converted node in the place of the old one: old value names, new constants under fresh names in front of it.
class Replacement {
 public:
  Replacement(const NodeProto& node, const ConvertOptions& options) : node_(node), options_(options) {
    for (int i = 0; i < node.input_size(); ++i) names_["i" + std::to_string(i)] = node.input(i);
    for (int i = 0; i < node.output_size(); ++i) names_["o" + std::to_string(i)] = node.output(i);
  }

  std::vector<NodeProto> from(const onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) constants_[tensor.name()] = &tensor;
    const NodeProto* main = nullptr;
    for (const auto& node : graph.node()) {
      if (node.op_type() == "Constant")
        constants_[node.output(0)] = &node.attribute(0).t();
      else if (main == nullptr)
        main = &node;
      else
        throw Error("ONNX's version converter makes several operators of it");
    }
    if (main == nullptr) throw Error("ONNX's version converter dropped it");
    std::vector<NodeProto> nodes;
    NodeProto result = node_;  // keeps name and documentation
    result.set_op_type(main->op_type());
    result.clear_input();
    result.clear_attribute();
    for (const auto& input : main->input()) result.add_input(renamed(input, nodes));
    for (const auto& attribute : main->attribute()) *result.add_attribute() = attribute;
    for (const auto& attribute : node_.attribute()) {
      if (!is_plain(attribute)) *result.add_attribute() = attribute;
    }
    nodes.push_back(std::move(result));
    return nodes;
  }

 private:
  const std::string& renamed(const std::string& value, std::vector<NodeProto>& nodes) {
    const auto constant = constants_.find(value);
    if (constant != constants_.end() && !names_.contains(value)) {
      const std::string base = node_.name().empty() ? node_.output(0) : node_.name();
      const std::string name = options_.fresh(base + "_constant");
      nodes.push_back(constant_node(options_.fresh(name + "_node"), name, *constant->second));
      names_[value] = name;
    }
    return names_[value];  // "" stays ""
  }

  const NodeProto& node_;
  const ConvertOptions& options_;
  std::map<std::string, std::string> names_;
  std::map<std::string, const onnx::TensorProto*> constants_;
};

// The scales of a Resize, or of Upsample, which had them in an attribute; empty where they are computed.
std::vector<float> scales_of(const NodeProto& node, const ConvertOptions& options) {
  const auto* fixed = find(node, "scales");
  return fixed != nullptr ? std::vector<float>(fixed->floats().begin(), fixed->floats().end())
                          : options.constant_floats(node.input(1));
}

// A Resize of opset 10 that shrinks some axes and enlarges others: one that shrinks, then one that enlarges, as a Resize has one
// nearest_mode for all axes since opset 11. "nearest" goes along each axis by itself, so that the values are the same.
std::vector<NodeProto> shrink_then_enlarge(const NodeProto& node, const std::vector<float>& scales,
                                           const ConvertOptions& options) {
  const std::string base = node.name().empty() ? node.output(0) : node.name();
  const std::string between = options.fresh(base + "_shrunk");
  std::vector<NodeProto> nodes;
  const auto add = [&](const std::string& name, const std::string& input, const std::string& output, bool shrinks) {
    onnx::TensorProto tensor;
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(static_cast<int64_t>(scales.size()));
    for (const float scale : scales) tensor.add_float_data(shrinks ? std::min(scale, 1.0F) : std::max(scale, 1.0F));
    const std::string factors = options.fresh(base + "_scales");
    nodes.push_back(constant_node(options.fresh(factors + "_node"), factors, tensor));
    NodeProto part = node;
    part.set_name(name);
    part.clear_input();
    for (const std::string& value : {input, std::string(), factors}) part.add_input(value);
    part.set_output(0, output);
    complete_resize(part, shrinks);
    nodes.push_back(std::move(part));
  };
  add(options.fresh(base + "_shrink"), node.input(0), between, true);
  add(node.name(), between, node.output(0), false);
  return nodes;
}

std::vector<NodeProto> converted_by_onnx(const NodeProto& original, const ConvertOptions& options) {
  NodeProto node = original;
  prepare(node, options);
  auto nodes = Replacement(node, options).from(converted_graph(node, options));
  if (nodes.back().op_type() != "Resize" || options.from >= 11 || options.to < 11) return nodes;
  const auto scales = scales_of(original, options);
  const bool shrinks = std::ranges::any_of(scales, [](float scale) { return scale < 1; });
  const bool enlarges = std::ranges::any_of(scales, [](float scale) { return scale > 1; });
  if (shrinks && enlarges && is_nearest(nodes.back())) return shrink_then_enlarge(nodes.back(), scales, options);
  complete_resize(nodes.back(), shrinks);
  return nodes;
}

}  // namespace

std::vector<NodeProto> convert_node(const NodeProto& node, const ConvertOptions& options) {
  if (node.op_type() == "Constant") return {node};  // newer sets only add attributes
  const bool dropped = is_dropped_operator(node.op_type(), options.from, options.to);
  if (!dropped && !changes(node.op_type(), options)) return {node};
  try {
    if (dropped) return without_dropped(node, options);
    check(node, options.from);
    if (is_coerced_softmax(node.op_type()) && options.from < 13 && options.to >= 13) return without_coercion(node, options);
    return converted_by_onnx(node, options);
  } catch (const std::exception& e) {
    throw Error("node '" + node.name() + "': operator " + node.op_type() + " cannot be raised from opset " +
                std::to_string(options.from) + " to " + std::to_string(options.to) + ": " + e.what());
  }
}

}  // namespace quasar::graph
