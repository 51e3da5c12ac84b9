#include "quasar/rounding/scale_window.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "quasar/ops/op.hpp"

namespace quasar::tune {
namespace {

// The nodes of a window, and what stands at its ends.
//
// From a value over so many linear layers in a row, or 64 nodes. Only nodes that depend on the start are looked at, and of these
// as many as are needed to know the members.
class WindowCut {
 public:
  WindowCut(const graph::Index& index, const std::string& start, size_t layers);

  const std::set<size_t>& members() const { return members_; }        // indices of nodes
  const std::vector<std::string>& inputs() const { return inputs_; }  // the start first
  const std::vector<std::string>& outputs() const { return outputs_; }

 private:
  size_t place_of(const graph::Node* node) const;
  bool is_read_outside(const std::string& value) const;
  void find_members(const std::string& start, size_t layers);
  void find_ends(const std::string& start);

  const graph::Index& index_;
  const graph::Model& model_;
  std::set<size_t> members_;
  std::vector<std::string> inputs_, outputs_;
};

constexpr size_t most_nodes = 64;  // of a window, where no linear layer ends it

bool is_linear(const graph::Node& node) {
  return node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm") || node.is("MatMul");
}

// `depth`: values that depend on the start, with the linear layers between.
size_t deepest_read(const graph::Node& node, const std::map<std::string, size_t>& depth) {
  size_t deepest = 0;
  for (const auto* list : {&node.inputs, &node.captures}) {
    for (const auto& value : *list) {
      const auto found = depth.find(value);
      if (found != depth.end()) deepest = std::max(deepest, found->second);
    }
  }
  return deepest;
}

WindowCut::WindowCut(const graph::Index& index, const std::string& start, size_t layers) : index_(index), model_(index.model()) {
  find_members(start, layers);
  find_ends(start);
}

size_t WindowCut::place_of(const graph::Node* node) const {
  return static_cast<size_t>(node - model_.nodes.data());
}

void WindowCut::find_members(const std::string& start, size_t layers) {
  std::map<std::string, size_t> depth{{start, 0}};
  std::set<size_t> waiting, near;  // nodes that read such values, in topological order; those that read one near enough
  const auto reach = [&](const std::string& value, bool is_near) {
    for (const graph::Node* reader : index_.consumers(value)) {
      waiting.insert(place_of(reader));
      if (is_near) near.insert(place_of(reader));
    }
  };
  reach(start, true);
  while (!near.empty()) {
    const size_t place = *waiting.begin();
    waiting.erase(waiting.begin());
    near.erase(place);
    const graph::Node& node = model_.nodes[place];
    size_t deepest = deepest_read(node, depth) + (is_linear(node) ? 1 : 0);
    if (!node.captures.empty() || members_.size() == most_nodes) deepest = layers + 1;
    if (deepest <= layers) members_.insert(place);
    for (const auto& output : node.outputs) {
      depth[output] = deepest;
      reach(output, deepest <= layers);
    }
  }
}

bool WindowCut::is_read_outside(const std::string& value) const {
  const auto outside = [&](const graph::Node* reader) {
    return !members_.contains(place_of(reader)) || std::ranges::count(reader->captures, value) > 0;
  };
  return index_.is_output(value) || std::ranges::any_of(index_.consumers(value), outside);
}

void WindowCut::find_ends(const std::string& start) {
  std::set<std::string> made, known{start};
  inputs_.push_back(start);
  for (const size_t i : members_) made.insert(model_.nodes[i].outputs.begin(), model_.nodes[i].outputs.end());
  for (const size_t i : members_) {
    for (const auto& value : model_.nodes[i].inputs) {
      if (!value.empty() && !made.contains(value) && model_.initializer(value) == nullptr && known.insert(value).second)
        inputs_.push_back(value);
    }
  }
  for (const size_t i : members_) {
    for (const auto& value : model_.nodes[i].outputs) {
      if (is_read_outside(value)) outputs_.push_back(value);
    }
  }
  // What the model hands out, or a float node reads, ends here too.
  if (members_.empty()) outputs_.push_back(start);
}

// The same grid, whichever type stores it. Values in 16-bit floats have none.
bool same_grid(const quant::QuantParams& a, const quant::QuantParams& b) {
  if (quant::is_half(a.type) || quant::is_half(b.type)) return false;
  const auto offset = [](const quant::QuantParams& params) {
    return params.zero_points[0] - static_cast<int32_t>(quant::grid_of(params.type, false).low);
  };
  return a.scales == b.scales && offset(a) == offset(b);
}

// Which group each value belongs to, by following movements and activations.
class Sharing {
 public:
  Sharing(const graph::Model& model, const quant::Plan& plan) : plan_(plan) {
    for (const auto& node : model.nodes) {
      std::string why;
      const auto roles = plan.nodes.contains(node.name) ? ops::roles_of(node, model, why) : std::nullopt;
      if (!roles || roles->activations.empty()) continue;
      if (roles->kind != ops::Kind::movement && roles->kind != ops::Kind::activation) continue;
      for (const auto& output : node.outputs) unite(node.inputs[roles->activations.front()], output);
    }
  }

  std::string leader(std::string value) const {
    for (auto next = leaders_.find(value); next != leaders_.end(); next = leaders_.find(value)) value = next->second;
    return value;
  }

 private:
  void unite(const std::string& input, const std::string& output) {
    const auto a = plan_.values.find(input), b = plan_.values.find(output);
    if (a == plan_.values.end() || b == plan_.values.end() || !same_grid(a->second, b->second)) return;
    leaders_[output] = leader(input);
  }

  const quant::Plan& plan_;
  std::map<std::string, std::string> leaders_;
};

// Writes the window's model: pairs stand where the plan has them.
class Writer {
 public:
  Writer(const graph::Model& model, const quant::Plan& plan, const SharedScale& group, const WindowCut& cut)
      : model_(model), plan_(plan), group_(group), cut_(cut), names_(members_of(model, cut)) {
    out_.ir_version = model.ir_version;
    out_.opsets = model.opsets;
    out_.rest = model.rest;
    scale_ = names_.fresh("window_scale");
    zero_point_ = names_.fresh("window_zero_point");
  }

  graph::Model run(const std::map<std::string, graph::Value>& types) {
    for (const auto& name : cut_.inputs()) out_.inputs.push_back({name, types.at(name).type});
    const std::string& start = cut_.inputs().front();
    const quant::QuantParams& params = plan_.values.at(start);
    out_.inputs.push_back({scale_, DataType::float32, Shape{}});
    out_.inputs.push_back({zero_point_, params.type, Shape{}});
    renamed_[start] = names_.fresh(start + "_window");
    add_pair(start, start, renamed_[start]);
    for (const size_t i : cut_.members()) add(model_.nodes[i]);
    for (const auto& value : cut_.outputs()) {
      const auto renamed = renamed_.find(value);
      out_.outputs.push_back({renamed == renamed_.end() ? value : renamed->second});
    }
    return std::move(out_);
  }

  size_t bytes() const { return bytes_; }

 private:
  static graph::Model members_of(const graph::Model& model, const WindowCut& cut) {
    graph::Model out;
    for (const auto& name : cut.inputs()) out.inputs.push_back({name});
    for (const size_t i : cut.members()) out.nodes.push_back(model.nodes[i]);
    return out;
  }

  void add(graph::Node node) {
    const bool is_quantized = plan_.nodes.contains(node.name);
    for (auto& input : node.inputs) {
      if (const Tensor* constant = model_.initializer(input)) {
        if (out_.initializers.emplace(input, *constant).second) bytes_ += constant->bytes().size();
      }
      const auto renamed = renamed_.find(input);
      if (renamed != renamed_.end() && (is_quantized || produced_quantized_.contains(input))) input = renamed->second;
    }
    std::vector<std::string> pairs;
    for (const auto& output : node.outputs) {
      const auto params = plan_.values.find(output);
      if (params == plan_.values.end() || !has_scale_to_refine(params->second)) continue;
      pairs.push_back(output);
      if (is_quantized) produced_quantized_.insert(output);
    }
    out_.nodes.push_back(std::move(node));
    for (const auto& value : pairs) {
      renamed_[value] = names_.fresh(value + "_window");
      add_pair(value, value, renamed_[value]);
    }
  }

  // Members of the group take the parameters that come in, those stored in another type keep their own.
  void add_pair(const std::string& value, const std::string& from, const std::string& to) {
    const quant::QuantParams& params = plan_.values.at(value);
    const bool shared = std::ranges::count(group_, value) > 0 && params.type == plan_.values.at(group_.front()).type;
    std::string scale = scale_, zero_point = zero_point_;
    if (!shared) {
      scale = names_.fresh(value + "_scale");
      zero_point = names_.fresh(value + "_zero_point");
      out_.initializers[scale] = Tensor::scalar(params.scales[0]);
      out_.initializers[zero_point] = params.type == DataType::int8 ? Tensor::scalar(static_cast<int8_t>(params.zero_points[0]))
                                                                    : Tensor::scalar(static_cast<uint8_t>(params.zero_points[0]));
    }
    const std::string codes = names_.fresh(value + "_codes");
    out_.nodes.push_back({.name = names_.fresh(value + "_q"),
                          .op_type = "QuantizeLinear",
                          .domain = "",
                          .inputs = {from, scale, zero_point},
                          .outputs = {codes}});
    out_.nodes.push_back({.name = names_.fresh(value + "_dq"),
                          .op_type = "DequantizeLinear",
                          .domain = "",
                          .inputs = {codes, scale, zero_point},
                          .outputs = {to}});
  }

  const graph::Model& model_;
  const quant::Plan& plan_;
  const SharedScale& group_;
  const WindowCut& cut_;
  graph::Names names_;
  graph::Model out_;
  std::string scale_, zero_point_;
  std::map<std::string, std::string> renamed_;
  std::set<std::string> produced_quantized_;
  size_t bytes_ = 0;
};

}  // namespace

bool has_scale_to_refine(const quant::QuantParams& params) {
  return (params.type == DataType::int8 || params.type == DataType::uint8) && params.axis < 0;
}

std::vector<SharedScale> shared_scales(const graph::Model& model, const quant::Plan& plan) {
  const Sharing sharing(model, plan);
  const graph::Index index(model);
  std::vector<SharedScale> groups;
  std::map<std::string, size_t> places;
  const auto add = [&](const std::string& value) {
    const auto params = plan.values.find(value);
    if (params == plan.values.end() || !has_scale_to_refine(params->second)) return;
    const graph::Node* producer = index.producer(value);
    if (producer != nullptr && producer->is("Softmax")) return;
    const std::string leader = sharing.leader(value);
    const auto [place, fresh] = places.try_emplace(leader, groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(value);
  };
  for (const auto& input : model.inputs) add(input.name);
  for (const auto& node : model.nodes) std::ranges::for_each(node.outputs, add);
  return groups;
}

std::optional<ScaleWindow> scale_window(const graph::Index& index, const std::map<std::string, graph::Value>& types,
                                        const quant::Plan& plan, const SharedScale& group, size_t layers) {
  const WindowCut cut(index, group.front(), layers);
  const auto known = [&](const std::string& value) {
    const auto found = types.find(value);
    return found != types.end() && found->second.type != DataType::undefined;
  };
  if (!std::ranges::all_of(cut.inputs(), known)) return std::nullopt;
  ScaleWindow window{.model = {}, .inputs = cut.inputs(), .outputs = {}};
  for (const auto& value : cut.outputs()) {
    if (known(value) && types.at(value).type == DataType::float32) window.outputs.push_back(value);
  }
  if (window.outputs.empty() || window.outputs.size() != cut.outputs().size()) return std::nullopt;
  Writer writer(index.model(), plan, group, cut);
  window.model = writer.run(types);
  window.weight_bytes = writer.bytes();
  return window;
}

}  // namespace quasar::tune
