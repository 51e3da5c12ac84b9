#include "quasar/graph/constant_node.hpp"

#include <onnx/onnx_pb.h>

#include "quasar/base/error.hpp"
#include "quasar/graph/tensor_proto.hpp"

namespace quasar::graph {
namespace {

Shape line(size_t count) {
  return {static_cast<int64_t>(count)};
}

// One reading per alternative of Attribute::value.
struct Reader {
  ExternalFiles& files;
  size_t& room;

  Tensor operator()(int64_t value) const { return Tensor::scalar(value); }
  Tensor operator()(float value) const { return Tensor::scalar(value); }
  Tensor operator()(const std::string& value) const { return Tensor::strings({}, {value}); }
  Tensor operator()(const std::vector<int64_t>& values) const { return Tensor::of(line(values.size()), values); }
  Tensor operator()(const std::vector<float>& values) const { return Tensor::of(line(values.size()), values); }
  Tensor operator()(const std::vector<std::string>& values) const { return Tensor::strings(line(values.size()), values); }
  Tensor operator()(const Tensor& value) const { return value; }
  Tensor operator()(const Opaque& value) const {
    onnx::AttributeProto proto;
    if (!proto.ParseFromString(*value.bytes) || !proto.has_sparse_tensor()) throw Error("its value is not a tensor");
    return dense_of(proto.sparse_tensor(), files, room);
  }
};

}  // namespace

Tensor constant_of(const Node& node, ExternalFiles& files, size_t& room) {
  try {
    if (node.attributes.size() != 1) throw Error("it must have exactly one value");
    return std::visit(Reader{files, room}, node.attributes[0].value);
  } catch (const Error& e) {
    throw Error("node '" + node.name + "' (Constant, of '" + node.outputs[0] + "'): " + e.what(), e.blame());
  }
}

}  // namespace quasar::graph
