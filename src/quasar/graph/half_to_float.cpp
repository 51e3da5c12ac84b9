#include "quasar/graph/half_to_float.hpp"

#include <onnx/onnx_pb.h>

#include "quasar/base/error.hpp"
#include "quasar/graph/subgraph.hpp"

namespace quasar::graph {
namespace {

bool is_half(DataType type) {
  return type == DataType::float16 || type == DataType::bfloat16;
}

bool is_half_number(int64_t type) {
  return is_half(static_cast<DataType>(type));
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
  return false;
}

void check_subgraphs(const Node& node) {
  visit_subgraphs(node, [&](const onnx::GraphProto& graph) {
    const auto fail = [&] {
      throw Error("node '" + node.name +
                  "' has a subgraph with 16-bit floating point, which is not yet supported; give the float32 model");
    };
    for (const auto& tensor : graph.initializer()) {
      if (is_half_number(tensor.data_type())) fail();
    }
    for (const auto& inner : graph.node()) {
      for (const auto& attribute : inner.attribute()) {
        if (inner.op_type() == "Cast" && attribute.name() == "to" && is_half_number(attribute.i())) fail();
        if (attribute.has_t() && is_half_number(attribute.t().data_type())) fail();
      }
    }
  });
}

// The types that operators are told to give: Cast to, EyeLike's dtype … ; tensors in attributes.
void widen(Node& node) {
  for (auto& [name, value] : node.attributes) {
    if (auto* number = std::get_if<int64_t>(&value); number != nullptr && is_half_number(*number)) {
      if (name == "to" || name == "dtype" || name == "output_datatype") *number = static_cast<int64_t>(DataType::float32);
    } else if (auto* tensor = std::get_if<Tensor>(&value); tensor != nullptr && is_half(tensor->type())) {
      *tensor = converted(*tensor, DataType::float32);
    }
  }
}

// The types of inner values, which the model carries along.
void widen_types(Model& model) {
  if (!model.rest) return;
  onnx::ModelProto proto;
  if (!proto.ParseFromString(*model.rest)) throw Error("the rest of the model cannot be read");
  for (auto& value : *proto.mutable_graph()->mutable_value_info()) {
    if (!value.type().has_tensor_type() || !is_half_number(value.type().tensor_type().elem_type())) continue;
    value.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(DataType::float32));
  }
  model.rest = std::make_shared<const std::string>(proto.SerializeAsString());
}

}  // namespace

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
  for (auto& node : model.nodes) {
    check_subgraphs(node);
    widen(node);
  }
  return model;
}

}  // namespace quasar::graph
