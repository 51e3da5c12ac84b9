#include "quasar/sensitivity/toggled_pieces.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "quasar/ops/op.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/sensitivity/quantized_copy.hpp"

namespace quasar::tune {
namespace {

using Nodes = std::vector<const graph::Node*>;

// Sequences cannot pass between pieces: what makes one stands in every piece that reads it.
bool is_repeated(const graph::Node& node) {
  static const std::set<std::string> types{"Constant",      "SequenceConstruct", "SequenceEmpty",
                                           "SequenceErase", "SequenceInsert",    "SplitToSequence"};
  return node.domain.empty() && types.contains(node.op_type);
}

std::vector<std::string> read_by(const graph::Node& node) {
  std::vector<std::string> out = node.inputs;
  out.insert(out.end(), node.captures.begin(), node.captures.end());
  std::erase(out, "");
  return out;
}

class Cutting {
 public:
  Cutting(const graph::Model& model, const quant::Plan& plan, const std::vector<std::string>& outputs)
      : index_(model), plan_(plan), wanted_(outputs.begin(), outputs.end()) {}

  Pieces run() {
    std::map<std::string, Nodes> units;  // by the name of their last node
    std::set<std::string> members;
    for (const auto& node : index_.model().nodes) {
      if (!unit_roles(node)) continue;
      const Nodes unit = with_absorbed(node);
      for (const auto* member : unit) members.insert(member->name);
      units[unit.back()->name] = unit;
    }
    // A unit stands where its last node does: nobody else reads what passes between its nodes.
    Nodes between;
    for (const auto& node : index_.model().nodes) {
      if (const auto unit = units.find(node.name); unit != units.end()) {
        add_piece(std::move(between));
        between.clear();
        add_unit(unit->second);
      } else if (!members.contains(node.name) && !is_repeated(node)) {
        between.push_back(&node);
      }
    }
    add_piece(std::move(between));
    return std::move(out_);
  }

 private:
  // The node's roles if it is quantized and a unit by itself.
  std::optional<ops::Roles> unit_roles(const graph::Node& node) const {
    if (!plan_.nodes.contains(node.name)) return std::nullopt;
    std::string why;
    auto roles = ops::roles_of(node, index_.model(), why);
    const bool is_unit = roles && (roles->kind == ops::Kind::compute || roles->kind == ops::Kind::elementwise);
    return is_unit ? std::move(roles) : std::nullopt;
  }

  Nodes with_absorbed(const graph::Node& node) const {
    Nodes out{&node};
    while (!plan_.values.contains(out.back()->outputs.front())) {
      const std::string& value = out.back()->outputs.front();
      const graph::Node* reader = quant::sole_reader(value, index_);
      if (reader == nullptr || !plan_.nodes.contains(reader->name) || reader->inputs.front() != value) break;
      if (unit_roles(*reader)) break;  // a bias's Add: a unit of its own, which writes its value itself
      out.push_back(reader);
    }
    return out;
  }

  void add_unit(const Nodes& nodes) {
    const graph::Node& node = *nodes.front();
    if (!add_piece(nodes)) return;
    Piece& piece = out_.pieces.back();
    piece.unit = out_.units.size();
    piece.quantized = quantized_copy(piece.exact, index_, plan_);
    out_.units.push_back({.node = node.name, .op_type = node.op_type, .inputs_per_output = products_of(node)});
  }

  double products_of(const graph::Node& node) const {
    const quant::NodePlan& plan = plan_.nodes.at(node.name);
    const auto roles = unit_roles(node);
    if (!plan.weight || roles->kind != ops::Kind::compute || node.is("Gather")) return 1;  // a lookup copies
    const Tensor& weights = *index_.model().initializer(node.inputs[plan.weight->input]);
    const int64_t channels =
        roles->weight->axis ? weights.shape()[static_cast<size_t>(*roles->weight->axis)] : weights.shape().back();
    return static_cast<double>(weights.count()) / static_cast<double>(std::max<int64_t>(channels, 1));
  }

  // The nodes as they are; false: nobody reads what they give.
  bool add_piece(Nodes nodes) {
    const std::set<const graph::Node*> own(nodes.begin(), nodes.end());
    Piece piece;
    std::set<std::string> known;
    for (const auto* node : nodes) {
      for (const auto& output : node->outputs) {
        known.insert(output);
        if (!output.empty() && is_read(output, own)) piece.outputs.push_back(output);
      }
    }
    if (piece.outputs.empty()) return false;
    for (size_t i = 0; i < nodes.size(); i++) {  // grows
      for (const auto& value : read_by(*nodes[i])) {
        if (!known.insert(value).second) continue;
        const graph::Node* producer = index_.producer(value);
        if (const Tensor* constant = index_.model().initializer(value)) {
          piece.exact.initializers[value] = *constant;
        } else if (producer != nullptr && is_repeated(*producer)) {
          for (const auto& output : producer->outputs) known.insert(output);
          nodes.push_back(producer);
        } else {
          piece.inputs.push_back(value);
          piece.exact.inputs.push_back({.name = value});
        }
      }
    }
    for (const auto* node : nodes) piece.exact.nodes.push_back(*node);
    for (const auto& value : piece.outputs) piece.exact.outputs.push_back({.name = value});
    graph::sort_nodes(piece.exact);
    piece.exact.ir_version = index_.model().ir_version;
    piece.exact.opsets = index_.model().opsets;
    piece.exact.rest = index_.model().rest;
    graph::verify(piece.exact, "the piece of " + nodes.front()->name);
    out_.pieces.push_back(std::move(piece));
    return true;
  }

  // By somebody outside of the piece.
  bool is_read(const std::string& value, const std::set<const graph::Node*>& own) const {
    if (wanted_.contains(value)) return true;
    return std::ranges::any_of(index_.consumers(value), [&](const graph::Node* reader) { return !own.contains(reader); });
  }

  const graph::Index index_;
  const quant::Plan& plan_;
  const std::set<std::string> wanted_;
  Pieces out_;
};

}  // namespace

Pieces pieces_of(const graph::Model& model, const quant::Plan& plan, const std::vector<std::string>& outputs) {
  return Cutting(model, plan, outputs).run();
}

}  // namespace quasar::tune
