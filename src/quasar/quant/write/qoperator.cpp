// A finished QDQ model becomes one of operators on codes: DequantizeLinear ─▶ operator ─▶ QuantizeLinear is one node. What has no
// such form stays between its pairs, and so does what the plan leaves in float.
//
// Quantization is monotone, so it may stand before an activation as well as behind it: Q(clip(x, a, b)) = clip(Q(x), Q(a), Q(b)).
// That is how activations vanish where the grid ends at their bounds, and become a Clip of codes elsewhere.
#include <algorithm>
#include <set>

#include "quasar/graph/load.hpp"
#include "quasar/graph/lookup.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/onnxruntime_kernels.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/quant/write/integer_operators.hpp"
#include "quasar/quant/write/write_half.hpp"
#include "quasar/quant/written_as.hpp"

namespace quasar::quant {
namespace {

// What stands behind a value that only one node reads: activations, and the QuantizeLinear behind them.
struct Tail {
  const graph::Node* quantize = nullptr;  // nullptr: the value stays float
  std::vector<const graph::Node*> activations = {};
  ops::Bounds bounds = {};
};

class Converting {
 public:
  Converting(graph::Model qdq, const Plan& plan)
      : before_(std::move(qdq)), plan_(plan), index_(before_), names_(before_), out_(before_) {}

  graph::Model run() {
    out_.nodes.clear();
    for (const auto& node : before_.nodes) {
      if (taken_.contains(&node)) continue;
      if (!convert(node)) out_.nodes.push_back(node);
    }
    graph::remove_unused(out_);
    out_.metadata["quasar.quant_format"] = name_of(Format::qoperator);
    graph::verify(out_, "the change to operators on codes");
    return std::move(out_);
  }

 private:
  bool convert(const graph::Node& node) {
    if (!plan_.nodes.contains(node.name)) return false;
    Group group{.node = node, .inputs = {}, .output = {}, .result = node.outputs.front()};
    bool any = false;
    for (const auto& input : node.inputs) {
      group.inputs.push_back(read(input));
      any = any || group.inputs.back();
    }
    if (!any) return false;
    if (group.inputs[0] && moves_codes(node.op_type)) return move(group);
    if (node.is("Relu") || node.is("Clip")) return clip(group);
    return compute(group);
  }

  // The codes behind DequantizeLinear; nullopt where there is none.
  std::optional<Codes> read(const std::string& value) const {
    const graph::Node* pair = index_.producer(value);
    if (pair == nullptr || pair->op_type != "DequantizeLinear") return std::nullopt;
    return codes(*pair, pair->inputs[0]);
  }

  // `value` on the grid of a QuantizeLinear or DequantizeLinear; nullopt for other types than those of sums and of 8 bits, and
  // for blocks.
  std::optional<Codes> codes(const graph::Node& pair, const std::string& value) const {
    const Tensor* scale = pair.inputs.size() > 2 ? before_.initializer(pair.inputs[1]) : nullptr;
    const Tensor* zero_point = scale == nullptr ? nullptr : before_.initializer(pair.inputs[2]);
    if (zero_point == nullptr || pair.integer("block_size", 0) != 0) return std::nullopt;
    if (bits_of(zero_point->type()) != 8 && zero_point->type() != DataType::int32) return std::nullopt;
    return Codes{value, pair.inputs[1], pair.inputs[2], zero_point->type(), scale->count(), pair.integer("axis", 1)};
  }

  Tail tail_of(std::string value) const {
    Tail tail;
    while (const graph::Node* reader = graph::sole_reader(value, index_)) {
      std::string why;
      if (reader->op_type == "QuantizeLinear") {
        const auto written = codes(*reader, reader->outputs[0]);
        if (written && written->scales == 1) tail.quantize = reader;
        break;
      }
      const bool clips = reader->is("Relu") || reader->is("Clip");
      const auto roles = clips ? ops::roles_of(*reader, before_, why) : std::nullopt;
      if (!roles || reader->inputs[0] != value || !plan_.nodes.contains(reader->name)) break;
      for (float* bound : {&tail.bounds.low, &tail.bounds.high})
        *bound = std::min(std::max(*bound, roles->bounds->low), roles->bounds->high);
      tail.activations.push_back(reader);
      value = reader->outputs[0];
    }
    return tail;
  }

  bool compute(Group& group) {
    // The sum of a constant vector behind a product is part of it, in float.
    const graph::Node* sum = group.node.is("MatMul") ? graph::sole_reader(group.result, index_) : nullptr;
    if (sum != nullptr && sum->is("Add") && group.inputs.size() > 1 && group.inputs[1]) {
      const std::string& other = sum->inputs[0] == group.result ? sum->inputs[1] : sum->inputs[0];
      const Tensor* vector = before_.initializer(other);
      const Tensor* weights = before_.initializer(group.inputs[1]->codes);
      if (vector != nullptr && weights != nullptr && vector->type() == DataType::float32 &&
          vector->shape() == Shape{weights->shape().back()}) {
        group.added = other;
        group.result = sum->outputs.front();
        return emit(group, {sum});
      }
    }
    const Tail tail = tail_of(group.result);
    if (tail.quantize == nullptr) return emit(group, {});
    group.output = codes(*tail.quantize, tail.quantize->outputs[0]);
    std::vector<const graph::Node*> taken = tail.activations;
    taken.push_back(tail.quantize);
    const auto clip = clipping(*group.output, tail.bounds);
    if (!clip) return emit(group, taken);
    group.output->codes = names_.fresh(tail.quantize->outputs[0] + "_unclipped");
    if (!emit(group, taken)) return false;
    add_clip(tail.activations.front()->name, group.output->codes, *clip, tail.quantize->outputs[0]);
    return true;
  }

  bool emit(const Group& group, const std::vector<const graph::Node*>& taken) {
    const OperatorContext context{.model = before_,
                                  .fresh = [this](const std::string& wish) { return names_.fresh(wish); },
                                  .add = [this](const std::string& wish, const Tensor& values) { return add(wish, values); }};
    auto nodes = on_codes(group, context);
    if (!nodes) return false;
    for (auto& node : *nodes) {
      if (!node.domain.empty()) out_.opsets.try_emplace(node.domain, 1);
      out_.nodes.push_back(std::move(node));
    }
    taken_.insert(taken.begin(), taken.end());
    return true;
  }

  // Operators that move values move codes; all that is read of their outputs is on the input's grid.
  bool move(const Group& group) {
    const Codes& from = *group.inputs[0];
    graph::Node node = group.node;
    std::vector<const graph::Node*> taken;
    for (auto& output : node.outputs) {
      if (output.empty() || (index_.consumers(output).empty() && !index_.is_output(output))) continue;
      const Tail tail = tail_of(output);
      if (tail.quantize == nullptr || !tail.activations.empty() || !same_grid(from, *codes(*tail.quantize, ""))) return false;
      output = tail.quantize->outputs[0];
      taken.push_back(tail.quantize);
    }
    if (taken.empty() || from.scales != 1) return false;
    node.inputs[0] = from.codes;
    if (node.is("Pad") && node.text("mode", "constant") == "constant") {
      if (node.inputs.size() < 3) node.inputs.resize(3);
      node.inputs[2] = from.zero_point;
    }
    out_.nodes.push_back(std::move(node));
    taken_.insert(taken.begin(), taken.end());
    return true;
  }

  // An activation between two pairs on the same grid.
  bool clip(const Group& group) {
    std::string why;
    const auto roles = ops::roles_of(group.node, before_, why);
    const Tail tail = tail_of(group.result);
    if (!roles || !group.inputs[0] || tail.quantize == nullptr || !tail.activations.empty()) return false;
    const std::string& output = tail.quantize->outputs[0];
    if (!same_grid(*group.inputs[0], *codes(*tail.quantize, output))) return false;
    if (const auto bounds = clipping(*group.inputs[0], *roles->bounds)) {
      add_clip(group.node.name, group.inputs[0]->codes, *bounds, output);
    } else {
      out_.nodes.push_back({.name = group.node.name,
                            .op_type = "Identity",
                            .domain = "",
                            .inputs = {group.inputs[0]->codes},
                            .outputs = {output},
                            .inside = group.node.inside});
    }
    taken_.insert(tail.quantize);
    return true;
  }

  bool same_grid(const Codes& a, const Codes& b) const {
    return *before_.initializer(a.scale) == *before_.initializer(b.scale) &&
           *before_.initializer(a.zero_point) == *before_.initializer(b.zero_point);
  }

  // The codes of the bounds within which a grid goes on: [least, greatest], "" where the grid ends before; nullopt: both.
  std::optional<std::vector<std::string>> clipping(const Codes& grid, const ops::Bounds& bounds) {
    const QuantParams params{.type = grid.type,
                             .scales = {before_.initializer(grid.scale)->as<float>()[0]},
                             .zero_points = {plain_codes(*before_.initializer(grid.zero_point))[0]}};
    const Grid whole = grid_of(grid.type, false);
    std::vector<std::string> names;
    for (const auto& [bound, end] : {std::pair{bounds.low, whole.low}, {bounds.high, whole.high}}) {
      const Tensor code = quantize(Tensor::scalar(bound), params);
      names.push_back(plain_codes(code)[0] == end ? "" : add(grid.codes + "_bound", code));
    }
    if (names[0].empty() && names[1].empty()) return std::nullopt;
    if (names[1].empty()) names.pop_back();
    return names;
  }

  void add_clip(const std::string& name, const std::string& from, const std::vector<std::string>& bounds, const std::string& to) {
    std::vector<std::string> inputs{from};
    inputs.insert(inputs.end(), bounds.begin(), bounds.end());
    out_.nodes.push_back({.name = name, .op_type = "Clip", .domain = "", .inputs = std::move(inputs), .outputs = {to}});
  }

  std::string add(const std::string& wish, const Tensor& values) {
    const std::string name = names_.fresh(wish);
    out_.initializers[name] = values;
    return name;
  }

  const graph::Model before_;
  const Plan& plan_;
  const graph::Index index_;
  graph::Names names_;
  graph::Model out_;
  std::set<const graph::Node*> taken_;  // part of an operator that was written before
};

}  // namespace

// What stays float32 in islands: also what was written around codes, as the sums and scales of dynamic products, which are of any
// size.
static std::set<std::string> all_but_float_nodes(const graph::Model& model, const graph::Model& made, const Plan& plan) {
  std::set<std::string> of_the_model, out = *plan.half_but;
  for (const auto& node : model.nodes) of_the_model.insert(node.name);
  for (const auto& node : made.nodes) {
    if (!of_the_model.contains(node.name)) out.insert(node.name);
  }
  return out;
}

graph::Model written(const graph::Model& model, const Plan& plan) {
  graph::Model qdq = apply(model, plan);
  write_as(qdq, plan.written_as);
  if (plan.half_but)
    write_half(qdq, plan.half_islands ? all_but_float_nodes(model, qdq, plan) : *plan.half_but, plan.half_islands);
  return plan.format == Format::qdq ? qdq : Converting(std::move(qdq), plan).run();
}

}  // namespace quasar::quant
