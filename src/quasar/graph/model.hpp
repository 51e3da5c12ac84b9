// An ONNX model as a plain value: nodes and small attributes are copied, weights are shared. What Quasar does not look into
// (subgraphs, functions, documentation) is kept as it came.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/graph/tensor.hpp"

namespace quasar::graph {

// An attribute that Quasar does not interpret (subgraph, type, sparse tensor …): a serialized onnx::AttributeProto.
struct Opaque {
  std::shared_ptr<const std::string> bytes;
};

struct Attribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>, Tensor, Opaque>
      value;
};

// A graph that If, Loop or Scan runs, in a model whose bodies are open (bodies.hpp).
struct Body;

struct QUASAR_API Node {
  std::string name;  // unique in the model and never empty (load gives names where there are none)
  std::string op_type;
  std::string domain;               // "" for ONNX's own (never "ai.onnx")
  std::vector<std::string> inputs;  // "" for an optional input left out
  std::vector<std::string> outputs;
  // Values of this graph that the node's subgraphs read; of a node with open bodies: those that its bodies give.
  std::vector<std::string> captures = {};
  std::vector<Attribute> attributes = {};
  std::shared_ptr<const std::string> rest = {};  // documentation and other fields: a serialized onnx::NodeProto without the above
  std::string inside = {};                       // the open body in which the node stands (id_of); "": the model's own graph
  // Of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: it stands in `inside`, and closing the bodies (bodies.hpp)
  // does not move it to its readers.
  bool stays = false;
  std::shared_ptr<const std::vector<Body>> bodies = {};  // the node's open bodies; null: none

  bool is(std::string_view type) const { return domain.empty() && op_type == type; }
  const Attribute* find(std::string_view attribute) const;
  // The attribute's value, or the fallback when it is absent. The type must be the attribute's.
  int64_t integer(std::string_view attribute, int64_t fallback) const;
  float real(std::string_view attribute, float fallback) const;
  std::string text(std::string_view attribute, std::string_view fallback) const;
  std::vector<int64_t> integers(std::string_view attribute, std::vector<int64_t> fallback = {}) const;
  void set(Attribute attribute);  // replaces one of the same name
};

// A graph input or output, or any value's type. Dimensions below 0 are not fixed (batch size …).
struct Value {
  std::string name;
  DataType type = DataType::undefined;    // undefined: not a tensor (a sequence, an optional …)
  std::optional<Shape> shape = {};        // nullopt: not even the rank is known
  std::vector<std::string> symbols = {};  // per dimension: its symbolic name, or ""
  std::shared_ptr<const std::string> rest =
      {};  // as it came (documentation, a type that is not a tensor's): an onnx::ValueInfoProto
};

struct Body {
  std::string attribute = {};                    // of the node: then_branch, else_branch, body
  std::vector<Value> inputs = {};                // what the operator hands in, by the names of the model's values
  std::vector<Value> outputs = {};               // what it takes out
  std::shared_ptr<const std::string> rest = {};  // everything else: a serialized onnx::GraphProto
};

struct QUASAR_API Model {
  int64_t ir_version = 8;
  std::map<std::string, int64_t> opsets;  // domain -> version; "" is ONNX's own
  std::vector<Node> nodes;                // in topological order
  std::map<std::string, Tensor> initializers;
  std::vector<Value> inputs;  // without those that are initializers too
  std::vector<Value> outputs;
  std::map<std::string, std::string> metadata;  // metadata_props
  std::shared_ptr<const std::string> rest;      // everything else, as a serialized onnx::ModelProto without the above

  int64_t opset() const;                                   // ONNX's own; 0 when not imported
  const Tensor* initializer(std::string_view name) const;  // nullptr when there is none
};

// Where values come from and go to. Valid as long as the model is not changed.
class QUASAR_API Index {
 public:
  explicit Index(const Model& model);
  const Node* producer(const std::string& value) const;                       // nullptr: an input, an initializer or unknown
  const std::vector<const Node*>& consumers(const std::string& value) const;  // nodes reading it (captures included), once each
  bool is_output(const std::string& value) const;                             // of the graph
  const Node* node(const std::string& name) const;                            // by node name
  const Model& model() const { return model_; }

 private:
  const Model& model_;
  std::unordered_map<std::string, const Node*> producers_, nodes_;
  std::unordered_map<std::string, std::vector<const Node*>> consumers_;
};

// A name that no value and no node of the model has yet: the wish itself, or with a number behind it.
class QUASAR_API Names {
 public:
  explicit Names(const Model& model);
  std::string fresh(const std::string& wish);

 private:
  std::unordered_map<std::string, int> taken_;
};

// Invariants: topological order, unique producers, unique node names, no dangling input, outputs produced. Throws Error that
// names the first violation; `where` says after which step.
QUASAR_API void verify(const Model& model, std::string_view where);

// Nodes in topological order (stable); throws Error when there is a cycle.
QUASAR_API void sort_nodes(Model& model);

// Removes nodes whose outputs nobody reads, and initializers that nobody reads.
QUASAR_API void remove_unused(Model& model);

}  // namespace quasar::graph
