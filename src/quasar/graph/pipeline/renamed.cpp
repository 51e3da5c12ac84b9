#include "quasar/graph/pipeline/renamed.hpp"

#include <onnx/onnx_pb.h>

#include "quasar/base/error.hpp"

namespace quasar::graph {
namespace {

class Renaming {
 public:
  explicit Renaming(const NewNames& names) : names_(names) {}

  std::string value(const std::string& name) const { return name.empty() ? name : names_.value(name); }

  void dimensions(onnx::TypeProto& type) const {
    if (type.has_sequence_type()) return dimensions(*type.mutable_sequence_type()->mutable_elem_type());
    if (type.has_optional_type()) return dimensions(*type.mutable_optional_type()->mutable_elem_type());
    if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return;
    for (auto& dimension : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (dimension.has_dim_param() && !dimension.dim_param().empty())
        dimension.set_dim_param(names_.symbol(dimension.dim_param()));
    }
  }

  void info(onnx::ValueInfoProto& info) const {
    info.set_name(value(info.name()));
    dimensions(*info.mutable_type());
  }

  void graph(onnx::GraphProto& graph) const {
    for (auto* infos : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
      for (auto& one : *infos) info(one);
    }
    for (auto& tensor : *graph.mutable_initializer()) tensor.set_name(value(tensor.name()));
    for (auto& tensor : *graph.mutable_sparse_initializer()) tensor.mutable_values()->set_name(value(tensor.values().name()));
    for (auto& node : *graph.mutable_node()) {
      for (auto& input : *node.mutable_input()) input = value(input);
      for (auto& output : *node.mutable_output()) output = value(output);
      for (auto& one : *node.mutable_attribute()) attribute(one);
    }
  }

  void attribute(onnx::AttributeProto& attribute) const {
    if (attribute.has_g()) graph(*attribute.mutable_g());
    for (auto& inner : *attribute.mutable_graphs()) graph(inner);
  }

  void node(Node& node) const {
    node.name = names_.node(node.name);
    for (auto* list : {&node.inputs, &node.outputs, &node.captures}) {
      for (auto& name : *list) name = value(name);
    }
    for (auto& one : node.attributes) {
      const Opaque* opaque = std::get_if<Opaque>(&one.value);
      if (opaque == nullptr) continue;
      onnx::AttributeProto proto;
      if (!proto.ParseFromString(*opaque->bytes))
        throw Error("attribute '" + one.name + "' of node '" + node.name + "' cannot be read");
      if (!proto.has_g() && proto.graphs().empty()) continue;
      attribute(proto);
      one.value = Opaque{std::make_shared<const std::string>(proto.SerializeAsString())};
    }
  }

  void port(Value& port) const {
    port.name = value(port.name);
    for (auto& symbol : port.symbols) symbol = symbol.empty() ? symbol : names_.symbol(symbol);
    if (!port.rest) return;
    onnx::ValueInfoProto proto;
    if (!proto.ParseFromString(*port.rest)) throw Error("the type of '" + port.name + "' cannot be read");
    info(proto);
    port.rest = std::make_shared<const std::string>(proto.SerializeAsString());
  }

 private:
  const NewNames& names_;
};

}  // namespace

Model renamed(Model model, const NewNames& names) {
  const Renaming renaming(names);
  for (auto& node : model.nodes) renaming.node(node);
  for (auto* ports : {&model.inputs, &model.outputs}) {
    for (auto& port : *ports) renaming.port(port);
  }
  std::map<std::string, Tensor> weights;
  for (auto& [name, tensor] : model.initializers) weights.emplace(renaming.value(name), std::move(tensor));
  model.initializers = std::move(weights);
  if (!model.rest) return model;
  onnx::ModelProto rest;
  if (!rest.ParseFromString(*model.rest)) throw Error("the rest of the model cannot be read");
  for (auto& info : *rest.mutable_graph()->mutable_value_info()) renaming.info(info);
  rest.mutable_graph()->clear_quantization_annotation();  // it speaks of values by their old names
  rest.clear_training_info();
  model.rest = std::make_shared<const std::string>(rest.SerializeAsString());
  return model;
}

}  // namespace quasar::graph
