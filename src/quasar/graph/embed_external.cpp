#include "quasar/graph/embed_external.hpp"

#include <onnx/onnx_pb.h>

#include "quasar/base/error.hpp"
#include "quasar/graph/tensor_proto.hpp"

namespace quasar::graph {
namespace {

class Embedder {
 public:
  explicit Embedder(ExternalFiles& files) : files_(files) {}

  void graph(onnx::GraphProto& proto) {
    for (auto& initializer : *proto.mutable_initializer()) tensor(initializer);
    nodes(*proto.mutable_node());
  }

  template <class Nodes>
  void nodes(Nodes& protos) {
    for (auto& node : protos) {
      for (auto& value : *node.mutable_attribute()) attribute(value);
    }
  }

 private:
  void attribute(onnx::AttributeProto& proto) {
    if (proto.has_t()) tensor(*proto.mutable_t());
    for (auto& one : *proto.mutable_tensors()) tensor(one);
    if (proto.has_g()) graph(*proto.mutable_g());
    for (auto& one : *proto.mutable_graphs()) graph(one);
  }

  void tensor(onnx::TensorProto& proto) {
    if (proto.data_location() != onnx::TensorProto::EXTERNAL) return;
    const Tensor read = tensor_of(std::make_shared<onnx::TensorProto>(proto), files_);
    bytes_ += read.bytes().size();  // many tensors may name the same bytes of a file
    if (bytes_ > INT32_MAX) throw Error("external data of subgraphs takes more than 2 GB, which a model cannot hold");
    proto.set_raw_data(read.bytes().data(), read.bytes().size());
    proto.clear_external_data();
    proto.clear_data_location();
  }

  ExternalFiles& files_;
  size_t bytes_ = 0;
};

}  // namespace

void embed_external(onnx::ModelProto& proto, ExternalFiles& files) {
  Embedder embedder(files);
  embedder.nodes(*proto.mutable_graph()->mutable_node());
  for (auto& function : *proto.mutable_functions()) embedder.nodes(*function.mutable_node());
  for (auto& training : *proto.mutable_training_info()) {
    embedder.graph(*training.mutable_initialization());
    embedder.graph(*training.mutable_algorithm());
  }
}

}  // namespace quasar::graph
