#include "quasar/graph/model_proto.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "quasar/base/error.hpp"
#include "quasar/base/utf8.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/graph/external_files.hpp"
#include "quasar/graph/node_proto.hpp"
#include "quasar/graph/rewrites/inline_functions.hpp"
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

// Takes external data of tensors in subgraphs, functions and training information into the message, because the model may be
// written elsewhere.
void embed_external(onnx::ModelProto& proto, ExternalFiles& files) {
  Embedder embedder(files);
  embedder.nodes(*proto.mutable_graph()->mutable_node());
  for (auto& function : *proto.mutable_functions()) embedder.nodes(*function.mutable_node());
  for (auto& training : *proto.mutable_training_info()) {
    embedder.graph(*training.mutable_initialization());
    embedder.graph(*training.mutable_algorithm());
  }
}

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

constexpr int64_t oldest_ir = 3;
// From here on initializers need not be inputs as well.
constexpr int64_t ir_of_free_initializers = 4;

void check_header(const onnx::ModelProto& proto) {
  if (!proto.has_ir_version()) throw Error("this is not an ONNX model (it has no IR version)");
  if (proto.ir_version() < oldest_ir) {
    throw Error("IR version " + std::to_string(proto.ir_version()) +
                " is too old, the oldest that Quasar takes is 3; export the model anew");
  }
  if (!proto.has_graph()) throw Error("this ONNX model has no graph");
  if (proto.opset_import().empty()) throw Error("this ONNX model imports no operator set");
}

void add_initializer(Model& model, const std::string& name, Tensor tensor) {
  if (name.empty()) throw Error("there is an initializer without a name");
  if (!model.initializers.emplace(name, std::move(tensor)).second)
    throw Error("there are two initializers with the name '" + name + "'");
}

// From the last to the first, so that each message can be handed over without moving the others.
void take_initializers(Model& model, onnx::GraphProto& graph, ExternalFiles& files, size_t& room) {
  for (int i = graph.initializer_size(); i > 0; --i) {
    const std::shared_ptr<onnx::TensorProto> proto(graph.mutable_initializer()->ReleaseLast());
    const std::string name = proto->name();
    try {
      add_initializer(model, name, tensor_of(proto, files));
    } catch (const Error& e) {
      throw Error("initializer '" + name + "': " + e.what(), e.blame());
    }
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    add_initializer(model, sparse.values().name(), dense_of(sparse, files, room));
  }
  graph.clear_sparse_initializer();
}

void take_nodes(Model& model, onnx::GraphProto& graph, ExternalFiles& files, size_t& room) {
  for (auto& proto : *graph.mutable_node()) {
    Node node = node_of(proto, files);
    if (node.is("Constant") && node.outputs.size() == 1) {
      add_initializer(model, node.outputs[0], constant_of(node, files, room));
    } else {
      model.nodes.push_back(std::move(node));
    }
  }
  graph.clear_node();
}

void take_values(Model& model, onnx::GraphProto& graph) {
  for (const auto& input : graph.input()) {
    if (!model.initializers.contains(input.name())) model.inputs.push_back(value_of(input));
  }
  for (const auto& output : graph.output()) model.outputs.push_back(value_of(output));
  graph.clear_input();
  graph.clear_output();
}

// Reports, messages and studies are UTF-8, as ONNX is.
void check_names(const Model& model) {
  const auto check = [](const std::string& name, const char* what) {
    if (!is_utf8(name)) throw Error(std::string("a ") + what + " has a name that is not UTF-8 text: '" + name + "'");
  };
  for (const auto& [name, tensor] : model.initializers) check(name, "weight");
  for (const auto* values : {&model.inputs, &model.outputs}) {
    for (const auto& value : *values) check(value.name, "graph input or output");
  }
  for (const auto& node : model.nodes) {
    check(node.name, "node");
    check(node.op_type, "operator");
    check(node.domain, "domain of operators");
    for (const auto* values : {&node.inputs, &node.outputs, &node.captures}) {
      for (const auto& value : *values) check(value, "value");
    }
  }
}

// Every node gets a name of its own: "Conv_3" for the fourth node, a number behind a name that is there already.
void name_nodes(Model& model) {
  Names names(model);
  std::unordered_set<std::string> used;
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    Node& node = model.nodes[i];
    if (node.name.empty()) node.name = names.fresh(node.op_type + "_" + std::to_string(i));
    if (!used.insert(node.name).second) node.name = names.fresh(node.name);
  }
}

// Types of values that are no longer there would only mislead.
void drop_stale_types(onnx::GraphProto& graph, const Model& model) {
  std::unordered_set<std::string> known;
  for (const auto& node : model.nodes) known.insert(node.outputs.begin(), node.outputs.end());
  auto& types = *graph.mutable_value_info();
  const auto stale = [&](const onnx::ValueInfoProto& type) { return !known.contains(type.name()); };
  types.erase(std::remove_if(types.begin(), types.end(), stale), types.end());
}

}  // namespace

Tensor constant_of(const Node& node, ExternalFiles& files, size_t& room) {
  try {
    if (node.attributes.size() != 1) throw Error("it must have exactly one value");
    return std::visit(Reader{files, room}, node.attributes[0].value);
  } catch (const Error& e) {
    throw Error("node '" + node.name + "' (Constant, of '" + node.outputs[0] + "'): " + e.what(), e.blame());
  }
}

Model model_of(onnx::ModelProto& proto, const std::filesystem::path& folder) {
  check_header(proto);
  inline_functions(proto);
  ExternalFiles files(folder);
  Model model;
  model.ir_version = std::max(proto.ir_version(), ir_of_free_initializers);
  for (const auto& import : proto.opset_import()) {
    int64_t& version = model.opsets[domain_of(import.domain())];
    version = std::max(version, import.version());
  }
  for (const auto& entry : proto.metadata_props()) model.metadata[entry.key()] = entry.value();
  onnx::GraphProto& graph = *proto.mutable_graph();
  size_t room = most_dense_bytes;
  take_initializers(model, graph, files, room);
  embed_external(proto, files);
  take_nodes(model, graph, files, room);
  take_values(model, graph);
  check_names(model);
  name_nodes(model);
  sort_nodes(model);
  proto.clear_ir_version();
  proto.clear_opset_import();
  proto.clear_metadata_props();
  model.rest = std::make_shared<const std::string>(proto.SerializeAsString());
  return model;
}

void set_model(onnx::ModelProto& proto, const Model& given) {
  std::optional<Model> without;
  if (has_open_bodies(given)) without = closed(given);
  const Model& model = without ? *without : given;
  if (model.rest && !proto.ParseFromString(*model.rest)) throw Error("the rest of the model cannot be read");
  proto.set_ir_version(model.ir_version);
  for (const auto& [domain, version] : model.opsets) {
    auto& import = *proto.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  for (const auto& [key, value] : model.metadata) {
    auto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  onnx::GraphProto& graph = *proto.mutable_graph();
  if (graph.name().empty()) graph.set_name("graph");  // the specification wants one
  drop_stale_types(graph, model);
  for (const auto& node : model.nodes) set_node(*graph.add_node(), node);
  for (const auto& input : model.inputs) set_value(*graph.add_input(), input);
  for (const auto& output : model.outputs) set_value(*graph.add_output(), output);
}

}  // namespace quasar::graph
