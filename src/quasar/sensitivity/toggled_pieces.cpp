#include "quasar/sensitivity/toggled_pieces.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "quasar/graph/lookup.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/dynamic_nodes.hpp"
#include "quasar/quant/placement.hpp"

namespace quasar::tune {
namespace {

class Copying {
 public:
  Copying(const graph::Model& exact, const graph::Index& index, const quant::Plan& plan)
      : exact_(exact), index_(index), plan_(plan), names_(exact) {
    out_.ir_version = exact.ir_version;
    out_.opsets = exact.opsets;
    out_.rest = exact.rest;
    out_.inputs = exact.inputs;
  }

  graph::Model run() {
    for (const auto& node : exact_.nodes) {
      if (plan_.nodes.contains(node.name)) {
        add(node);
      } else {
        out_.nodes.push_back(node);  // gives a constant
      }
    }
    for (const auto& output : exact_.outputs) {
      const std::string &value = output.name, &copy = copies_.at(value);
      out_.outputs.push_back({.name = plan_.values.contains(value) ? add_pair(copy, plan_.params(value)) : copy});
    }
    return std::move(out_);
  }

 private:
  void add(graph::Node node) {
    const quant::NodePlan& plan = plan_.nodes.at(node.name);
    const std::string name = node.name;
    for (const auto& [input, tensor] : plan.replaced) node.inputs.at(input) = add_constant(tensor);
    if (plan.form == quant::NodeForm::dynamic && !node.is("Gather")) node.inputs.front() = add_dynamic_pair(node.inputs.front());
    for (auto& input : node.inputs) {
      if (const auto own = copies_.find(input); own != copies_.end()) {
        input = own->second;
      } else if (plan.form == quant::NodeForm::pairs) {  // others read float values
        input = read(input, name);
      }
    }
    if (plan.weight) replace_constant(node, *plan.weight, plan.form);
    if (plan.bias) replace_constant(node, *plan.bias, plan.form);
    for (const auto& constant : plan.constants) replace_constant(node, constant, plan.form);
    for (const auto* values : {&node.inputs, &node.captures}) {
      for (const auto& value : *values) {
        if (const Tensor* constant = exact_.initializer(value)) out_.initializers[value] = *constant;
      }
    }
    node.name = names_.fresh(node.name + "_copy");
    for (auto& output : node.outputs) {
      if (output.empty()) continue;
      const std::string copy = names_.fresh(output + "_copy");
      copies_[output] = copy;
      output = copy;
    }
    out_.nodes.push_back(std::move(node));
  }

  std::string read(const std::string& value, const std::string& reader) {
    const auto own = plan_.conversions.find(value);
    if (own != plan_.conversions.end() && own->second.contains(reader)) return add_pair(value, own->second.at(reader));
    if (!plan_.values.contains(value)) return value;
    const auto known = pairs_.find(value);
    return known != pairs_.end() ? known->second : pairs_[value] = add_pair(value, plan_.params(value));
  }

  // `form`: the node's. Parameters of LSTMs with ranges at run time are meant for a matrix.
  void replace_constant(graph::Node& node, const quant::ConstantPlan& plan, quant::NodeForm form) {
    const Tensor& given = *index_.model().initializer(node.inputs[plan.input]);
    const Tensor values = form == quant::NodeForm::dynamic ? quant::as_planned(node, given) : given;
    const quant::QuantParams& params = plan.optimized ? plan.optimized->params : plan.params;
    const Tensor back =
        quant::dequantize(plan.optimized ? plan.optimized->codes : quant::quantize_within(values, params, plan.limits), params);
    node.inputs[plan.input] = add_constant(back.reshaped(given.shape()));
  }

  // scale · clip(round(x / scale), low − z, high − z): by Q and DQ for 8 bits, which take less time; 16-bit floats by casts.
  std::string add_pair(const std::string& value, const quant::QuantParams& params) {
    if (quant::is_half(params.type)) return add_cast(add_cast(value, params.type), DataType::float32);
    if (params.type == DataType::int8 || params.type == DataType::uint8) {
      const std::string scale = add_constant(Tensor::scalar(params.scales.front()));
      const std::string zero_point = add_constant(quant::codes_tensor(params.type, {}, params.zero_points));
      return add_node("DequantizeLinear", {add_node("QuantizeLinear", {value, scale, zero_point}), scale, zero_point});
    }
    const quant::Grid grid = quant::grid_of(params.type, false);
    const auto limit = [&](int64_t code) {
      return add_constant(Tensor::scalar(static_cast<float>(code - params.zero_points.front())));
    };
    const std::string scale = add_constant(Tensor::scalar(params.scales.front()));
    const std::string codes = add_node("Round", {add_node("Div", {value, scale})});
    const std::string clipped = add_node("Min", {add_node("Max", {codes, limit(grid.low)}), limit(grid.high)});
    return add_node("Mul", {clipped, scale});
  }

  // The value in uint8 and back, with the range that it has in this run.
  std::string add_dynamic_pair(const std::string& value) {
    const std::string codes = add_node("DynamicQuantizeLinear", {value});
    const std::string scale = names_.fresh("toggled_scale"), zero_point = names_.fresh("toggled_zero_point");
    out_.nodes.back().outputs = {codes, scale, zero_point};
    return add_node("DequantizeLinear", {codes, scale, zero_point});
  }

  std::string add_node(const std::string& type, std::vector<std::string> inputs) {
    std::string output = names_.fresh("toggled_" + type);
    out_.nodes.push_back({.name = names_.fresh("toggled_" + type),
                          .op_type = type,
                          .domain = "",
                          .inputs = std::move(inputs),
                          .outputs = {output}});
    return output;
  }

  std::string add_cast(const std::string& value, DataType type) {
    std::string output = add_node("Cast", {value});
    out_.nodes.back().set({"to", static_cast<int64_t>(type)});
    return output;
  }

  std::string add_constant(Tensor values) {
    std::string name = names_.fresh("toggled_constant");
    out_.initializers[name] = std::move(values);
    return name;
  }

  const graph::Model& exact_;
  const graph::Index& index_;
  const quant::Plan& plan_;
  graph::Names names_;
  graph::Model out_;
  std::map<std::string, std::string> pairs_, copies_;  // value -> what stands for it here
};

// `exact`: the unit's nodes as a model of their own, with the names that they have in the model of `index`. The copy reads the
// same inputs and gives the same outputs, in this order and under other names, with pairs on both and with quantized constants.
graph::Model quantized_copy(const graph::Model& exact, const graph::Index& index, const quant::Plan& plan) {
  return Copying(exact, index, plan).run();
}

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
  Cutting(const graph::Model& model, std::span<const quant::Plan> plans, const std::vector<std::string>& outputs)
      : index_(model), plans_(plans), plan_(plans.front()), wanted_(outputs.begin(), outputs.end()) {}

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
      const graph::Node* reader = graph::sole_reader(value, index_);
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
    for (const quant::Plan& plan : plans_) {
      const auto is_planned = [&](const graph::Node* member) { return plan.nodes.contains(member->name); };
      piece.quantized.emplace_back();
      if (std::ranges::all_of(nodes, is_planned)) piece.quantized.back() = quantized_copy(piece.exact, index_, plan);
    }
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
  const std::span<const quant::Plan> plans_;
  const quant::Plan& plan_;  // the first of them
  const std::set<std::string> wanted_;
  Pieces out_;
};

}  // namespace

Pieces pieces_of(const graph::Model& model, std::span<const quant::Plan> plans, const std::vector<std::string>& outputs) {
  return Cutting(model, plans, outputs).run();
}

}  // namespace quasar::tune
