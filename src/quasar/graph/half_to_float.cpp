#include "quasar/graph/half_to_float.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/graph/tensor_proto.hpp"

namespace quasar::graph {
namespace {

bool is_half(DataType type) {
  return type == DataType::float16 || type == DataType::bfloat16;
}

bool is_half_number(int64_t type) {
  return is_half(static_cast<DataType>(type));
}

bool has_half(const onnx::GraphProto& graph);

bool has_half(const onnx::AttributeProto& attribute) {
  return (attribute.has_t() && is_half_number(attribute.t().data_type())) || (attribute.has_g() && has_half(attribute.g()));
}

// Of a body the constants say it.
bool has_half(const onnx::GraphProto& graph) {
  const auto& constants = graph.initializer();
  return std::any_of(constants.begin(), constants.end(), [](const auto& one) { return is_half_number(one.data_type()); }) ||
         std::any_of(graph.node().begin(), graph.node().end(), [](const onnx::NodeProto& node) {
           return std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& one) { return has_half(one); });
         });
}

bool has_half(const Node& node) {
  return std::ranges::any_of(node.attributes, [](const Attribute& attribute) {
    if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) return is_half(tensor->type());
    const auto* opaque = std::get_if<Opaque>(&attribute.value);
    onnx::AttributeProto proto;
    return opaque != nullptr && proto.ParseFromString(*opaque->bytes) && has_half(proto);
  });
}

bool has_half(const Model& model) {
  for (const auto& [name, tensor] : model.initializers) {
    if (is_half(tensor.type())) return true;
  }
  for (const auto* values : {&model.inputs, &model.outputs}) {
    for (const auto& value : *values) {
      if (is_half(value.type)) return true;
    }
  }
  return std::ranges::any_of(model.nodes, [](const Node& node) { return has_half(node); });
}

// Attributes that tell an operator the type to give: of Cast, EyeLike …
bool names_a_type(const std::string& attribute) {
  return attribute == "to" || attribute == "dtype" || attribute == "output_datatype";
}

void widen(onnx::TypeProto& type) {
  if (type.has_tensor_type() && is_half_number(type.tensor_type().elem_type()))
    type.mutable_tensor_type()->set_elem_type(static_cast<int>(DataType::float32));
  if (type.has_sequence_type()) widen(*type.mutable_sequence_type()->mutable_elem_type());
  if (type.has_optional_type()) widen(*type.mutable_optional_type()->mutable_elem_type());
}

void widen(onnx::TensorProto& proto) {
  if (!is_half_number(proto.data_type())) return;
  ExternalFiles none({});  // loading has taken external data in
  onnx::TensorProto wide;
  set_tensor(wide, converted(tensor_of(std::make_shared<onnx::TensorProto>(proto), none), DataType::float32));
  wide.set_name(proto.name());
  proto.Swap(&wide);
}

void widen(onnx::GraphProto& graph);

void widen(onnx::AttributeProto& attribute) {
  if (names_a_type(attribute.name()) && is_half_number(attribute.i())) attribute.set_i(static_cast<int>(DataType::float32));
  if (attribute.has_t()) widen(*attribute.mutable_t());
  for (auto& tensor : *attribute.mutable_tensors()) widen(tensor);
  if (attribute.has_tp()) widen(*attribute.mutable_tp());
  for (auto& type : *attribute.mutable_type_protos()) widen(type);
  if (attribute.has_g()) widen(*attribute.mutable_g());
  for (auto& graph : *attribute.mutable_graphs()) widen(graph);
}

void widen(onnx::GraphProto& graph) {
  for (const auto& tensor : graph.sparse_initializer()) {
    if (is_half_number(tensor.values().data_type()))
      throw Error("the sparse constant '" + tensor.values().name() +
                  "' in a subgraph has 16-bit floating point, which is not supported; give the float32 model");
  }
  for (auto& tensor : *graph.mutable_initializer()) widen(tensor);
  for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (auto& value : *values) widen(*value.mutable_type());
  }
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) widen(attribute);
  }
}

// The types that operators are told to give; tensors in attributes; subgraphs.
void widen(Node& node) {
  for (auto& [name, value] : node.attributes) {
    if (auto* number = std::get_if<int64_t>(&value); number != nullptr && is_half_number(*number)) {
      if (names_a_type(name)) *number = static_cast<int64_t>(DataType::float32);
    } else if (auto* tensor = std::get_if<Tensor>(&value); tensor != nullptr && is_half(tensor->type())) {
      *tensor = converted(*tensor, DataType::float32);
    } else if (auto* opaque = std::get_if<Opaque>(&value)) {
      onnx::AttributeProto proto;
      if (!proto.ParseFromString(*opaque->bytes))
        throw Error("attribute '" + name + "' of node '" + node.name + "' cannot be read");
      widen(proto);
      opaque->bytes = std::make_shared<const std::string>(proto.SerializeAsString());
    }
  }
}

// The types of inner values, which the model carries along.
void widen_types(Model& model) {
  if (!model.rest) return;
  onnx::ModelProto proto;
  if (!proto.ParseFromString(*model.rest)) throw Error("the rest of the model cannot be read");
  for (auto& value : *proto.mutable_graph()->mutable_value_info()) widen(*value.mutable_type());
  model.rest = std::make_shared<const std::string>(proto.SerializeAsString());
}

}  // namespace

void forget_types(Model& model, const std::set<std::string>& values) {
  if (!model.rest || values.empty()) return;
  onnx::ModelProto proto;
  if (!proto.ParseFromString(*model.rest)) throw Error("the rest of the model cannot be read");
  auto& types = *proto.mutable_graph()->mutable_value_info();
  types.erase(std::remove_if(types.begin(), types.end(), [&](const auto& value) { return values.contains(value.name()); }),
              types.end());
  model.rest = std::make_shared<const std::string>(proto.SerializeAsString());
}

Model half_to_float(Model model) {
  if (!has_half(model)) return model;
  for (auto& [name, tensor] : model.initializers) {
    if (is_half(tensor.type())) tensor = converted(tensor, DataType::float32);
  }
  for (auto* values : {&model.inputs, &model.outputs}) {
    for (auto& value : *values) {
      if (!is_half(value.type)) continue;
      value.type = DataType::float32;
      value.rest = {};
    }
  }
  widen_types(model);
  for (auto& node : model.nodes) widen(node);
  return model;
}

}  // namespace quasar::graph
