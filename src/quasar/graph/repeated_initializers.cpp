#include "quasar/graph/repeated_initializers.hpp"

#include <onnx/onnx_pb.h>

#include <set>

namespace quasar::graph {
namespace {

// Whether there were any.
bool drop_from(onnx::GraphProto& graph) {
  std::set<std::string> known;
  google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
  for (auto& tensor : *graph.mutable_initializer()) {
    if (known.insert(tensor.name()).second) kept.Add(std::move(tensor));
  }
  bool changed = kept.size() != graph.initializer_size();
  graph.mutable_initializer()->Swap(&kept);
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) changed = drop_from(*attribute.mutable_g()) || changed;
      for (auto& inner : *attribute.mutable_graphs()) changed = drop_from(inner) || changed;
    }
  }
  return changed;
}

}  // namespace

void drop_repeated_initializers(Model& model) {
  for (Node& node : model.nodes) {
    for (Attribute& attribute : node.attributes) {
      const Opaque* opaque = std::get_if<Opaque>(&attribute.value);
      onnx::AttributeProto proto;
      if (opaque == nullptr || !proto.ParseFromString(*opaque->bytes)) continue;
      bool changed = proto.has_g() && drop_from(*proto.mutable_g());
      for (auto& graph : *proto.mutable_graphs()) changed = drop_from(graph) || changed;
      if (changed) attribute.value = Opaque{std::make_shared<const std::string>(proto.SerializeAsString())};
    }
  }
}

}  // namespace quasar::graph
