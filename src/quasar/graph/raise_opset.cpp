#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "quasar/base/error.hpp"
#include "quasar/graph/convert_node.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/model_proto.hpp"
#include "quasar/graph/node_proto.hpp"
#include "quasar/graph/tensor_proto.hpp"

namespace quasar::graph {
namespace {

constexpr int64_t newest_of_libonnx = 17;  // 1.12 knows no newer definitions
constexpr int64_t newest_convertible = 19;

// The IR version that came with an opset (https://github.com/onnx/onnx/blob/main/docs/Versioning.md), for those above 12.
int64_t ir_version_for(int64_t opset) {
  if (opset >= 19) return 9;
  return opset >= 15 ? 8 : 7;
}

// Opset 18 made axes of these an input, as ReduceSum has them since 13, and asks Split for the number of equal parts
// (https://onnx.ai/onnx/operators). Nothing else that models of opset 17 may say means something else in 18 and 19.
constexpr std::array reductions{"ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
                                "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSumSquare"};

std::vector<onnx::NodeProto> as_in_18(onnx::NodeProto node, const ConvertOptions& options) {
  if (node.op_type() == "Split" && (node.input_size() < 2 || node.input(1).empty())) {
    auto& parts = *node.add_attribute();
    parts.set_name("num_outputs");
    parts.set_type(onnx::AttributeProto::INT);
    parts.set_i(node.output_size());
    return {std::move(node)};
  }
  auto& attributes = *node.mutable_attribute();
  const auto axes = std::ranges::find_if(attributes, [](const auto& one) { return one.name() == "axes"; });
  if (std::ranges::find(reductions, node.op_type()) == reductions.end() || axes == attributes.end()) return {std::move(node)};
  onnx::NodeProto constant;
  constant.set_op_type("Constant");
  constant.set_name(options.fresh(node.output(0) + "_axes_node"));
  constant.add_output(options.fresh(node.output(0) + "_axes"));
  auto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::INT64);
  value.mutable_t()->add_dims(axes->ints_size());
  for (const int64_t axis : axes->ints()) value.mutable_t()->add_int64_data(axis);
  node.add_input(constant.output(0));
  attributes.erase(axes);
  return {std::move(constant), std::move(node)};
}

using Shapes = std::map<std::string, std::vector<int64_t>>;

// Where a Conv before opset 11 leaves kernel_shape to its weights, libonnx 1.12 reads beyond the end of weights that have too few
// axes. Such nodes get the kernel_shape of their weights, whose length it checks, or, where there is none or it is not known yet,
// a domain that inference passes over. `constants`: of the graphs around this one.
void complete_kernels(onnx::GraphProto& graph, Shapes constants) {
  for (const auto& tensor : graph.initializer()) constants[tensor.name()] = {tensor.dims().begin(), tensor.dims().end()};
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) complete_kernels(*attribute.mutable_g(), constants);
      for (auto& inner : *attribute.mutable_graphs()) complete_kernels(inner, constants);
    }
    const bool told = std::ranges::any_of(node.attribute(), [](const auto& one) { return one.name() == "kernel_shape"; });
    if (told || !domain_of(node.domain()).empty() || (node.op_type() != "Conv" && node.op_type() != "ConvTranspose")) continue;
    const auto weights = constants.find(node.input_size() > 1 ? node.input(1) : "");
    if (weights == constants.end() || weights->second.size() < 3) {
      node.set_domain("unknown");
      continue;
    }
    auto& kernel = *node.add_attribute();
    kernel.set_name("kernel_shape");
    kernel.set_type(onnx::AttributeProto::INTS);
    for (size_t axis = 2; axis < weights->second.size(); ++axis) kernel.add_ints(weights->second[axis]);
  }
}

// Ranks of the graph's values as far as ONNX's shape inference knows them; it needs the shapes of weights, and only small
// tensors' values.
std::map<std::string, size_t> ranks_of(const Model& model, onnx::ModelProto proto) {
  constexpr size_t small = 1024;
  std::map<std::string, size_t> ranks;
  for (const auto& [name, tensor] : model.initializers) {
    ranks[name] = tensor.shape().size();
    auto& initializer = *proto.mutable_graph()->add_initializer();
    tensor.bytes().size() <= small ? set_tensor(initializer, tensor) : set_header(initializer, tensor);
    initializer.set_name(name);
  }
  complete_kernels(*proto.mutable_graph(), {});
  try {
    onnx::shape_inference::InferShapes(proto);
  } catch (const std::exception&) {
    // What was inferred up to here still holds; the rest stays unknown.
  }
  for (const auto* values : {&proto.graph().input(), &proto.graph().value_info(), &proto.graph().output()}) {
    for (const auto& value : *values) {
      const auto& type = value.type().tensor_type();
      if (type.has_shape()) ranks[value.name()] = static_cast<size_t>(type.shape().dim_size());
    }
  }
  return ranks;
}

std::vector<onnx::NodeProto> raised(const onnx::NodeProto& node, const ConvertOptions& options) {
  ConvertOptions known = options;
  known.to = std::min(options.to, newest_of_libonnx);
  std::vector<onnx::NodeProto> nodes =
      options.from < newest_of_libonnx ? convert_node(node, known) : std::vector<onnx::NodeProto>{node};
  if (options.to < 18 || options.from >= 18) return nodes;
  std::vector<onnx::NodeProto> out;
  for (auto& one : nodes) std::ranges::move(as_in_18(std::move(one), options), std::back_inserter(out));
  return out;
}

// Converts all nodes of a graph, and first those of the graphs in their attributes, which share its opset.
void convert_graph(onnx::GraphProto& graph, const ConvertOptions& options) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> converted;
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) convert_graph(*attribute.mutable_g(), options);
      for (auto& inner : *attribute.mutable_graphs()) convert_graph(inner, options);
    }
    if (!domain_of(node.domain()).empty()) {
      converted.Add(std::move(node));
    } else {
      for (auto& part : raised(node, options)) converted.Add(std::move(part));
    }
  }
  graph.mutable_node()->Swap(&converted);
}

}  // namespace

// Node by node and without the weights, which come through untouched. Nodes of other domains do not depend on ONNX's opset.
Model raise_opset(Model model, int64_t version) {
  if (model.opset() >= version) return model;
  if (model.opset() == 0) {  // not imported: no node depends on it
    model.opsets[""] = version;
    return model;
  }
  if (version > newest_convertible) {
    throw Error("opset " + std::to_string(model.opset()) + " cannot be raised to " + std::to_string(version) +
                "; conversion goes up to " + std::to_string(newest_convertible));
  }
  onnx::ModelProto proto;
  set_model(proto, model);
  Names names(model);
  const auto ranks = ranks_of(model, proto);
  ConvertOptions options;
  options.from = model.opset();
  options.to = version;
  options.fresh = [&](const std::string& wish) { return names.fresh(wish); };
  options.rank = [&](const std::string& value) {
    const auto found = ranks.find(value);
    return found != ranks.end() ? std::optional(found->second) : std::nullopt;
  };
  options.constant_floats = [&](const std::string& value) {
    const Tensor* tensor = model.initializer(value);
    if (tensor == nullptr || tensor->type() != DataType::float32) return std::vector<float>();
    return std::vector<float>(tensor->as<float>().begin(), tensor->as<float>().end());
  };
  convert_graph(*proto.mutable_graph(), options);
  Model raised = model_of(proto, {});
  raised.opsets[""] = version;
  raised.ir_version = std::max(raised.ir_version, ir_version_for(version));
  raised.initializers.merge(model.initializers);
  verify(raised, "the model, raised to opset " + std::to_string(version));
  return raised;
}

}  // namespace quasar::graph
