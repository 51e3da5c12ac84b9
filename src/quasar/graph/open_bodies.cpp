#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/graph/model_proto.hpp"
#include "quasar/graph/node_proto.hpp"
#include "quasar/graph/tensor_proto.hpp"

namespace quasar::graph {
namespace {

using NewNames = std::unordered_map<std::string, std::string>;  // of a scope's values, where they are others

bool is_control_flow(const std::string& domain, const std::string& type) {
  constexpr std::array all = {"If", "Loop", "Scan"};
  return domain.empty() && std::ranges::find(all, type) != all.end();
}

bool has_graph(const onnx::AttributeProto& attribute) {
  return attribute.has_g() || attribute.graphs_size() > 0;
}

// Whether all graphs in there are bodies of If, Loop and Scan: names within others could not be changed.
bool can_open(const onnx::GraphProto& graph) {
  return std::ranges::all_of(graph.node(), [](const onnx::NodeProto& node) {
    const bool known = is_control_flow(domain_of(node.domain()), node.op_type());
    return std::ranges::all_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
      return !has_graph(attribute) || (known && attribute.has_g() && can_open(attribute.g()));
    });
  });
}

// The bodies of the node; none where one of them has to stay closed.
std::vector<onnx::AttributeProto> graphs_of(const Node& node) {
  std::vector<onnx::AttributeProto> out;
  if (!is_control_flow(node.domain, node.op_type)) return out;
  for (const auto& attribute : node.attributes) {
    const Opaque* opaque = std::get_if<Opaque>(&attribute.value);
    if (opaque == nullptr) continue;
    if (!out.emplace_back().ParseFromString(*opaque->bytes))
      throw Error("attribute '" + attribute.name + "' of node '" + node.name + "' cannot be read");
    if (!out.back().has_g() || !can_open(out.back().g())) return {};
  }
  return out;
}

// What branches of an If give for one output must be of one type. Types that they do not say are ONNX Runtime's to find out.
void check_branches(const Node& owner, const std::vector<Body>& bodies) {
  if (!owner.is("If") || bodies.size() != 2) return;
  const Body &one = bodies[0], &other = bodies[1];
  const std::string start = "the branches of If '" + owner.name + "' do not fit together: ";
  if (one.outputs.size() != other.outputs.size())
    throw Error(start + one.attribute + " gives " + std::to_string(one.outputs.size()) + " outputs, " + other.attribute + " " +
                std::to_string(other.outputs.size()));
  for (size_t i = 0; i < one.outputs.size(); ++i) {
    const Value &a = one.outputs[i], &b = other.outputs[i];
    if (a.type == DataType::undefined || b.type == DataType::undefined || a.type == b.type) continue;
    const std::string output = i < owner.outputs.size() ? owner.outputs[i] : std::to_string(i);
    throw Error(start + "for its output '" + output + "' " + one.attribute + " gives " + std::string(name_of(a.type)) + " ('" +
                a.name + "'), and " + other.attribute + " " + std::string(name_of(b.type)) + " ('" + b.name +
                "'); ONNX wants one type: put a Cast into one of them, or export the model anew");
  }
}

class Opening {
 public:
  explicit Opening(const Model& model) : out_(model), names_(model) {
    out_.nodes.clear();
    for (const auto& input : model.inputs) values_.insert(input.name);
    for (const auto& [name, tensor] : model.initializers) values_.insert(name);
    for (const auto& node : model.nodes) {
      values_.insert(node.outputs.begin(), node.outputs.end());
      nodes_.insert(node.name);
    }
  }

  Model run(const Model& model) {
    for (const Node& node : model.nodes) open(node, {});
    for (Node& node : out_.nodes) node.stays = is_conversion(node);
    sort_nodes(out_);
    return std::move(out_);
  }

 private:
  // Adds the node behind what its bodies hold.
  void open(Node node, const NewNames& scope) {
    std::vector<onnx::AttributeProto> graphs = graphs_of(node);
    if (!graphs.empty()) {
      std::erase_if(node.attributes, [](const Attribute& attribute) { return std::holds_alternative<Opaque>(attribute.value); });
      std::vector<Body> bodies;
      for (auto& graph : graphs) bodies.push_back(taken_apart(node, graph, scope));
      check_branches(node, bodies);
      node.captures.clear();
      for (const Body& body : bodies) {
        for (const Value& output : body.outputs) {
          if (std::ranges::find(node.captures, output.name) == node.captures.end()) node.captures.push_back(output.name);
        }
      }
      node.bodies = std::make_shared<const std::vector<Body>>(std::move(bodies));
    }
    out_.nodes.push_back(std::move(node));
  }

  Body taken_apart(const Node& owner, onnx::AttributeProto& attribute, NewNames scope) {
    onnx::GraphProto& graph = *attribute.mutable_g();
    Body body{.attribute = attribute.name()};
    const std::string id = id_of(owner, body);
    take_constants(graph, scope);
    for (const auto& input : graph.input()) {
      if (out_.initializers.contains(named(input.name(), scope)) && is_own_constant(graph, input.name())) continue;
      body.inputs.push_back(value_of(input));
      body.inputs.back().name = defined(input.name(), scope);
    }
    if (!body.inputs.empty()) add_entry(owner, id, body);
    take_nodes(id, graph, scope);
    for (const auto& output : graph.output()) {
      body.outputs.push_back(value_of(output));
      body.outputs.back().name = named(output.name(), scope);
    }
    for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) list->Clear();
    graph.clear_node();
    graph.clear_initializer();
    graph.clear_sparse_initializer();
    body.rest = std::make_shared<const std::string>(graph.SerializeAsString());
    return body;
  }

  static bool is_own_constant(const onnx::GraphProto& graph, const std::string& name) {
    const auto is = [&](const auto& tensor) { return tensor.name() == name; };
    return std::ranges::any_of(graph.initializer(), is);
  }

  void take_constants(onnx::GraphProto& graph, NewNames& scope) {
    for (auto& tensor : *graph.mutable_initializer()) {
      take(tensor.name(), tensor_of(std::make_shared<onnx::TensorProto>(tensor), no_files_), scope);
    }
    for (const auto& sparse : graph.sparse_initializer()) {
      take(sparse.values().name(), dense_of(sparse, no_files_, room_), scope);
    }
  }

  void take_nodes(const std::string& id, onnx::GraphProto& graph, NewNames& scope) {
    for (const auto& node : graph.node()) {
      if (is_constant(node)) continue;
      for (const auto& output : node.output()) {
        if (!output.empty()) defined(output, scope);
      }
    }
    int position = 0;
    for (auto& proto : *graph.mutable_node()) {
      const bool constant = is_constant(proto);
      Node node = node_of(proto, no_files_);
      if (constant) {
        position++;
        take(node.outputs[0], constant_of(node, no_files_, room_), scope);
        continue;
      }
      const std::string own = node.name.empty() ? node.op_type + "_" + std::to_string(position) : node.name;
      position++;
      node.name = name_inside(id, own);
      if (!nodes_.insert(node.name).second) nodes_.insert(node.name = names_.fresh(node.name));
      node.inside = id;
      for (auto* values : {&node.inputs, &node.outputs, &node.captures}) {
        for (auto& value : *values) value = named(value, scope);
      }
      open(std::move(node), scope);
    }
  }

  static bool is_constant(const onnx::NodeProto& node) {
    return domain_of(node.domain()).empty() && node.op_type() == "Constant" && node.output_size() == 1;
  }

  // Branches that were exported one by one have weights of their own that are the same: one of them is kept.
  void take(const std::string& name, Tensor tensor, NewNames& scope) {
    std::vector<std::string>& alike = by_hash_[hash_of(tensor.bytes())];
    const auto same = std::ranges::find_if(alike, [&](const auto& known) { return out_.initializers.at(known) == tensor; });
    if (same != alike.end()) {
      scope[name] = *same;
    } else {
      alike.push_back(defined(name, scope));
      out_.initializers.emplace(alike.back(), std::move(tensor));
    }
  }

  void add_entry(const Node& owner, const std::string& id, const Body& body) {
    Node entry{.name = name_inside(id, "entry"),
               .op_type = owner.op_type,
               .domain = entry_domain,
               .inputs = owner.inputs,
               .outputs = {}};
    if (!nodes_.insert(entry.name).second) nodes_.insert(entry.name = names_.fresh(entry.name));
    std::vector<int64_t> types;
    for (const Value& input : body.inputs) {
      entry.outputs.push_back(input.name);
      types.push_back(static_cast<int64_t>(input.type));
    }
    entry.attributes.push_back({"types", std::move(types)});
    entry.inside = id;
    out_.nodes.push_back(std::move(entry));
  }

  static std::string named(const std::string& value, const NewNames& scope) {
    const auto found = scope.find(value);
    return found == scope.end() ? value : found->second;
  }

  // The name in the model of a value that a body defines.
  std::string defined(const std::string& value, NewNames& scope) {
    std::string name = value;
    if (!values_.insert(name).second) values_.insert(name = names_.fresh(value));
    return scope[value] = name;
  }

  Model out_;
  Names names_;
  std::unordered_set<std::string> values_, nodes_;
  std::unordered_map<std::string, std::vector<std::string>> by_hash_;  // bodies' constants
  ExternalFiles no_files_{{}};                                         // loading has taken external data in
  size_t room_ = most_dense_bytes;
};

}  // namespace

std::string id_of(const Node& owner, const Body& body) {
  return owner.name + "/" + body.attribute;
}

std::string name_inside(const std::string& body, const std::string& name) {
  if (name.starts_with(body + "/")) return name;
  return body + (name.starts_with('/') ? "" : "/") + name;
}

bool has_open_bodies(const Model& model) {
  return std::ranges::any_of(model.nodes, [](const Node& node) { return node.bodies != nullptr || node.domain == entry_domain; });
}

Model opened(const Model& model) {
  const bool none =
      std::ranges::none_of(model.nodes, [](const Node& node) { return is_control_flow(node.domain, node.op_type); });
  return none ? model : Opening(model).run(model);
}

std::set<std::string> inner_values(const Model& model) {
  std::set<std::string> out;
  for (const Node& node : model.nodes) {
    if (!node.inside.empty()) out.insert(node.outputs.begin(), node.outputs.end());
  }
  return out;
}

std::vector<const Node*> owners_of(const Node& node, const Index& index) {
  std::vector<const Node*> out;
  for (std::string inside = node.inside; !inside.empty();) {
    const Node* owner = index.node(inside.substr(0, inside.rfind('/')));
    if (owner == nullptr) break;
    out.push_back(owner);
    inside = owner->inside;
  }
  return out;
}

}  // namespace quasar::graph
