#include <onnx/onnx_pb.h>

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/graph/node_proto.hpp"
#include "quasar/graph/subgraph.hpp"

namespace quasar::graph {
namespace {

// The bodies of one model as a tree; the empty id is the model's own graph.
class Tree {
 public:
  explicit Tree(const Model& model) {
    for (const Node& node : model.nodes) {
      if (node.bodies == nullptr) continue;
      for (const Body& body : *node.bodies) owners_[id_of(node, body)] = &node;
    }
    for (const auto& [id, owner] : owners_) {
      std::string inside = owner->inside;
      parents_[id] = owners_.contains(inside) ? inside : "";
    }
  }

  std::string known(const std::string& id) const { return owners_.contains(id) ? id : ""; }
  const std::string& parent(const std::string& id) const { return parents_.at(id); }
  bool is_branch(const std::string& id) const { return owners_.at(id)->is("If"); }

  bool holds(const std::string& outer, std::string inner) const {
    while (!inner.empty() && inner != outer) inner = parents_.at(inner);
    return inner == outer;
  }

  std::string common(std::string one, const std::string& other) const {
    while (!holds(one, other)) one = parents_.at(one);
    return one;
  }

 private:
  std::map<std::string, const Node*> owners_;
  std::map<std::string, std::string> parents_;
};

// May stand in any graph where its values are known.
bool goes_to_readers(const Node& node) {
  return is_conversion(node) && !node.stays;
}

// Decides in which graph each node stands.
class Placing {
 public:
  explicit Placing(const Model& model) : model_(model), tree_(model), names_(model) {
    std::erase_if(model_.nodes, [](const Node& node) { return node.domain == entry_domain; });
    for (const Node& node : model.nodes) {
      if (node.domain != entry_domain) continue;
      for (const auto& output : node.outputs) homes_[output] = tree_.known(node.inside);
    }
  }

  // Only what is read decides.
  std::vector<std::string> places() {
    for (Node& node : model_.nodes) follow_inputs(node, tree_.known(node.inside));
    std::vector<std::string> out;
    for (const Node& node : model_.nodes) out.push_back(node.inside);
    return out;
  }

  Model run() {
    for (Node& node : model_.nodes) follow_inputs(node, goes_to_readers(node) ? "" : tree_.known(node.inside));
    gather_readers();
    for (size_t i = model_.nodes.size(); i-- > 0;) {
      Node& node = model_.nodes[i];
      if (goes_to_readers(node)) go_to_readers(i);
      for (const auto& input : node.inputs) readers_[input].push_back(i);
    }
    repeat_dequantizers();
    for (Node& node : model_.nodes) node.stays = is_conversion(node);
    return std::move(model_);
  }

 private:
  std::string home(const std::string& value) const {
    if (value.empty()) return "";  // what is left out stands nowhere, whoever leaves an output out
    const auto found = homes_.find(value);
    return found == homes_.end() ? "" : found->second;
  }

  void follow_inputs(Node& node, std::string inside) {
    for (const auto& input : node.inputs) {
      const std::string from = home(input);
      if (tree_.holds(from, inside)) continue;
      if (!tree_.holds(inside, from))
        throw Error("node '" + node.name + "' reads values of '" + inside + "' and of '" + from + "', which no graph has both");
      inside = from;
    }
    node.inside = inside;
    for (const auto& output : node.outputs) homes_[output] = inside;
  }

  // Outputs of the model and of bodies are read where they are given.
  void gather_readers() {
    for (const auto& output : model_.outputs) ends_[output.name].push_back("");
    for (const Node& node : model_.nodes) {
      if (node.bodies == nullptr) {
        for (const auto& captured : node.captures) ends_[captured].push_back(node.inside);
        continue;
      }
      for (const Body& body : *node.bodies) {
        for (const auto& output : body.outputs) ends_[output.name].push_back(id_of(node, body));
      }
    }
  }

  std::vector<std::string> reading(const Node& node) const {
    std::vector<std::string> out;
    for (const auto& output : node.outputs) {
      if (const auto found = ends_.find(output); found != ends_.end())
        out.insert(out.end(), found->second.begin(), found->second.end());
      const auto found = readers_.find(output);
      if (found == readers_.end()) continue;
      for (const size_t reader : found->second) out.push_back(model_.nodes[reader].inside);
    }
    return out;
  }

  // As deep as all readers allow, but into no body that runs several times.
  void go_to_readers(size_t i) {
    Node& node = model_.nodes[i];
    const std::vector<std::string> readers = reading(node);
    if (readers.empty()) return;
    std::string to = readers.front();
    for (const auto& reader : readers) to = tree_.common(to, reader);
    if (node.op_type == "DequantizeLinear") return place(node, to);
    for (std::string at = to; at != node.inside; at = tree_.parent(at)) {
      if (!tree_.is_branch(at)) to = tree_.parent(at);
    }
    place(node, to);
  }

  void place(Node& node, const std::string& inside) {
    node.inside = inside;
    for (const auto& output : node.outputs) homes_[output] = inside;
  }

  // A DequantizeLinear of its own in each body that reads the value.
  void repeat_dequantizers() {
    std::vector<Node> nodes;
    nodes.reserve(model_.nodes.size());
    std::map<std::pair<std::string, std::string>, std::string> known;  // value, body -> what it reads instead
    std::unordered_map<std::string, Node> dequantizers;
    for (Node& node : model_.nodes) {
      if (node.op_type == "DequantizeLinear" && !node.stays) dequantizers.emplace(node.outputs.at(0), node);
      for (auto& input : node.inputs) {
        const auto from = dequantizers.find(input);
        if (from == dequantizers.end() || from->second.inside == node.inside) continue;
        std::string& own = known[{input, node.inside}];
        if (own.empty()) {
          Node copy = from->second;
          copy.name = names_.fresh(copy.name);
          copy.inside = node.inside;
          own = copy.outputs[0] = names_.fresh(input);
          nodes.push_back(std::move(copy));
        }
        input = own;
      }
      nodes.push_back(std::move(node));
    }
    model_.nodes = std::move(nodes);
    drop_unread(known);
  }

  // DequantizeLinear that have copies and no other readers.
  void drop_unread(const std::map<std::pair<std::string, std::string>, std::string>& copies) {
    std::set<std::string> unread;
    for (const auto& [from, copy] : copies) {
      if (!ends_.contains(from.first)) unread.insert(from.first);
    }
    for (const Node& node : model_.nodes) {
      for (const auto& input : node.inputs) unread.erase(input);
    }
    std::erase_if(model_.nodes, [&](const Node& node) { return unread.contains(node.outputs.at(0)); });
  }

  Model model_;
  const Tree tree_;
  Names names_;
  std::unordered_map<std::string, std::string> homes_;              // value -> the body that gives it
  std::unordered_map<std::string, std::vector<size_t>> readers_;    // value -> nodes
  std::unordered_map<std::string, std::vector<std::string>> ends_;  // value -> bodies that give it out, graphs that capture it
};

class Closing {
 public:
  explicit Closing(Model placed) : out_(std::move(placed)), names_(out_) {}

  Model run() {
    std::vector<Node> nodes = std::move(out_.nodes);
    out_.nodes.clear();
    for (Node& node : nodes) {
      const std::string inside = std::move(node.inside);
      node.inside.clear();
      for (const auto& output : node.outputs) given_[inside].insert(output);
      graphs_[inside].push_back(&node);
    }
    for (Node* node : graphs_[""]) {
      if (node->bodies != nullptr) close(*node);
      out_.nodes.push_back(std::move(*node));
    }
    return std::move(out_);
  }

 private:
  void close(Node& node) {
    onnx::NodeProto proto;
    for (const Body& body : *node.bodies) {
      auto& attribute = *proto.add_attribute() = written(node, body);
      node.attributes.push_back({body.attribute, Opaque{std::make_shared<const std::string>(attribute.SerializeAsString())}});
    }
    node.captures = captures_of(proto);
    node.bodies = nullptr;
  }

  onnx::AttributeProto written(const Node& owner, const Body& body) {
    const std::string id = id_of(owner, body);
    onnx::AttributeProto out;
    out.set_name(body.attribute);
    out.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& graph = *out.mutable_g();
    if (body.rest && !graph.ParseFromString(*body.rest)) throw Error("the rest of the body '" + id + "' cannot be read");
    if (graph.name().empty()) graph.set_name(body.attribute);  // the specification wants one
    for (Node* node : graphs_[id]) {
      if (node->bodies != nullptr) close(*node);
      set_node(*graph.add_node(), *node);
    }
    for (const Value& input : body.inputs) set_value(*graph.add_input(), input);
    for (const Value& output : body.outputs) add_output(graph, id, body, output);
    return out;
  }

  // Runtimes want outputs of a body to be its own values.
  void add_output(onnx::GraphProto& graph, const std::string& id, const Body& body, Value output) {
    const bool given = std::ranges::any_of(body.inputs, [&](const Value& input) { return input.name == output.name; });
    if (!given && !given_[id].contains(output.name)) {
      const Node pass{.name = names_.fresh(name_inside(id, output.name)),
                      .op_type = "Identity",
                      .domain = "",
                      .inputs = {output.name},
                      .outputs = {names_.fresh(output.name)}};
      output.name = pass.outputs[0];
      set_node(*graph.add_node(), pass);
    }
    set_value(*graph.add_output(), output);
  }

  Model out_;
  Names names_;
  std::map<std::string, std::vector<Node*>> graphs_;    // nodes by body, in order
  std::map<std::string, std::set<std::string>> given_;  // values by body
};

}  // namespace

bool is_conversion(const Node& node) {
  return node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear" || node.op_type == "DynamicQuantizeLinear";
}

void place_in_bodies(Model& model) {
  if (!has_open_bodies(model)) return;
  const std::vector<std::string> places = Placing(model).places();
  size_t k = 0;  // entries say for themselves where they stand
  for (Node& node : model.nodes) {
    if (node.domain != entry_domain) node.inside = places[k++];
  }
}

Model placed(const Model& model) {
  if (!has_open_bodies(model)) return model;
  Placing placing(model);
  Model out = placing.run();
  for (const Node& node : model.nodes) {
    if (node.domain == entry_domain) out.nodes.push_back(node);
  }
  sort_nodes(out);
  return out;
}

Model closed(const Model& model) {
  if (!has_open_bodies(model)) return model;
  return Closing(Placing(model).run()).run();
}

}  // namespace quasar::graph
