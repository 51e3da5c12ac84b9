#include "quasar/graph/node_proto.hpp"

#include <onnx/onnx_pb.h>

#include "quasar/base/error.hpp"
#include "quasar/graph/subgraph.hpp"
#include "quasar/graph/tensor_proto.hpp"

namespace quasar::graph {
namespace {

using Kind = onnx::AttributeProto;

template <class T, class Field>
std::vector<T> list_of(const Field& field) {
  return {field.begin(), field.end()};
}

Attribute attribute_of(onnx::AttributeProto& proto, ExternalFiles& files) {
  Attribute out{proto.name(), {}};
  const int kind = proto.has_ref_attr_name() ? Kind::UNDEFINED : proto.type();
  switch (kind) {
    case Kind::INT:
      out.value = proto.i();
      break;
    case Kind::FLOAT:
      out.value = proto.f();
      break;
    case Kind::STRING:
      out.value = proto.s();
      break;
    case Kind::INTS:
      out.value = list_of<int64_t>(proto.ints());
      break;
    case Kind::FLOATS:
      out.value = list_of<float>(proto.floats());
      break;
    case Kind::STRINGS:
      out.value = list_of<std::string>(proto.strings());
      break;
    case Kind::TENSOR: {
      proto.mutable_t();  // so that there is one to release
      out.value = tensor_of(std::shared_ptr<onnx::TensorProto>(proto.release_t()), files);
      break;
    }
    default:
      out.value = Opaque{std::make_shared<const std::string>(proto.SerializeAsString())};
  }
  return out;
}

// One setter per alternative of Attribute::value.
struct AttributeWriter {
  onnx::AttributeProto& proto;

  void operator()(int64_t value) const { proto.set_type(Kind::INT), proto.set_i(value); }
  void operator()(float value) const { proto.set_type(Kind::FLOAT), proto.set_f(value); }
  void operator()(const std::string& value) const { proto.set_type(Kind::STRING), proto.set_s(value); }
  void operator()(const std::vector<int64_t>& values) const {
    proto.set_type(Kind::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<float>& values) const {
    proto.set_type(Kind::FLOATS);
    proto.mutable_floats()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(Kind::STRINGS);
    for (const auto& value : values) proto.add_strings(value);
  }
  void operator()(const Tensor& value) const {
    proto.set_type(Kind::TENSOR);
    set_tensor(*proto.mutable_t(), value);
  }
  void operator()(const Opaque& value) const {
    if (!proto.ParseFromString(*value.bytes)) throw Error("an attribute's bytes cannot be read");
  }
};

// The message without what is kept elsewhere; null when nothing is left.
std::shared_ptr<const std::string> rest_of(onnx::NodeProto& proto) {
  proto.clear_name();
  proto.clear_op_type();
  proto.clear_domain();
  proto.clear_input();
  proto.clear_output();
  proto.clear_attribute();
  return proto.ByteSizeLong() == 0 ? nullptr : std::make_shared<const std::string>(proto.SerializeAsString());
}

}  // namespace

std::string domain_of(const std::string& written) {
  return written == "ai.onnx" ? "" : written;
}

Node node_of(onnx::NodeProto& proto, ExternalFiles& files) {
  Node node{proto.name(), proto.op_type(), domain_of(proto.domain()), list_of<std::string>(proto.input()),
            list_of<std::string>(proto.output())};
  // ONNX Runtime 1.30 crashes on a bias that is left out by an empty name.
  if (node.is("LayerNormalization") && node.inputs.size() == 3 && node.inputs[2].empty()) node.inputs.pop_back();
  node.captures = captures_of(proto);
  for (auto& attribute : *proto.mutable_attribute()) {
    try {
      node.attributes.push_back(attribute_of(attribute, files));
    } catch (const Error& e) {
      throw Error("attribute '" + attribute.name() + "' of node '" + node.name + "' (" + node.op_type + "): " + e.what(),
                  e.blame());
    }
  }
  node.rest = rest_of(proto);
  return node;
}

void set_node(onnx::NodeProto& proto, const Node& node) {
  if (node.rest && !proto.ParseFromString(*node.rest))
    throw Error("the documentation of node '" + node.name + "' cannot be read");
  proto.set_name(node.name);
  proto.set_op_type(node.op_type);
  if (!node.domain.empty()) proto.set_domain(node.domain);
  for (const auto& input : node.inputs) proto.add_input(input);
  for (const auto& output : node.outputs) proto.add_output(output);
  for (const auto& attribute : node.attributes) {
    auto& written = *proto.add_attribute();
    std::visit(AttributeWriter{written}, attribute.value);
    written.set_name(attribute.name);
  }
}

Value value_of(const onnx::ValueInfoProto& proto) {
  Value value{proto.name()};
  value.rest = std::make_shared<const std::string>(proto.SerializeAsString());
  if (!proto.type().has_tensor_type()) return value;
  const auto& type = proto.type().tensor_type();
  value.type = static_cast<DataType>(type.elem_type());
  if (!type.has_shape()) return value;
  value.shape.emplace();
  for (const auto& dimension : type.shape().dim()) {
    value.shape->push_back(dimension.has_dim_value() && dimension.dim_value() >= 0 ? dimension.dim_value() : -1);
    value.symbols.push_back(dimension.dim_param());
  }
  return value;
}

void set_value(onnx::ValueInfoProto& proto, const Value& value) {
  if (value.rest && !proto.ParseFromString(*value.rest)) throw Error("the type of '" + value.name + "' cannot be read");
  proto.set_name(value.name);
  if (value.type == DataType::undefined) return;
  auto& type = *proto.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int>(value.type));
  if (!value.shape) return type.clear_shape();
  auto& dimensions = *type.mutable_shape()->mutable_dim();
  const auto rank = static_cast<int>(value.shape->size());
  while (dimensions.size() > rank) dimensions.RemoveLast();
  while (dimensions.size() < rank) dimensions.Add();
  for (int d = 0; d < rank; ++d) {
    const auto i = static_cast<size_t>(d);
    dimensions[d].clear_value();
    if ((*value.shape)[i] >= 0)
      dimensions[d].set_dim_value((*value.shape)[i]);
    else if (i < value.symbols.size() && !value.symbols[i].empty())
      dimensions[d].set_dim_param(value.symbols[i]);
  }
}

}  // namespace quasar::graph
