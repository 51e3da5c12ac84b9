#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "quasar/graph/load.hpp"
#include "quasar/rounding/gradient.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::tune {
namespace {

constexpr int64_t oldest_opset = 16;  // the first whose ScatterElements adds

std::map<std::string_view, const Gradient*> families() {
  static const auto made = [] {
    std::vector<std::unique_ptr<Gradient>> all;
    for (const auto& [name, entry] : gradients::table().items()) all.push_back(entry.make({}));
    return all;
  }();
  std::map<std::string_view, const Gradient*> out;
  for (const auto& family : made) {
    for (const auto type : family->types()) out[type] = family.get();
  }
  return out;
}

// Such values change in steps: what depends on them has no slope there.
bool is_discrete(DataType type) {
  using enum DataType;
  constexpr std::array discrete{boolean, int8, uint8, int16, uint16, int32, uint32, int64, uint64, string};
  return std::ranges::find(discrete, type) != discrete.end();
}

// Goes through the nodes from the last to the first.
class Walk {
 public:
  Walk(ReversePass& pass, NodeWriter& writer, const std::vector<std::string>& values)
      : pass_(pass), writer_(writer), needed_(values.begin(), values.end()) {
    count_ = pass.model.nodes.size();
    for (const auto& node : pass.model.nodes) {
      const auto depends = [&](const std::string& value) { return needed_.contains(value); };
      if (std::ranges::any_of(node.inputs, depends) || std::ranges::any_of(node.captures, depends))
        needed_.insert(node.outputs.begin(), node.outputs.end());
    }
  }

  bool needs(const std::string& value) const { return needed_.contains(value); }
  void add(const std::string& value, const std::string& gradient) { terms_[value].push_back(gradient); }

  void run() {
    for (size_t i = count_; i-- > 0;) {
      const graph::Node node = pass_.model.nodes[i];  // a copy: nodes are written behind it
      std::vector<std::string> gradients;
      for (const auto& output : node.outputs) gradients.push_back(sum_of(output));
      const bool unknown = std::ranges::any_of(node.outputs, [&](const auto& output) { return unknown_.contains(output); });
      if (!unknown && std::ranges::all_of(gradients, [](const auto& one) { return one.empty(); })) continue;
      for (size_t input = 0; input < node.inputs.size(); input++) go_back(node, gradients, input, unknown);
      for (const auto& value : node.captures) {
        if (!needs(value)) continue;
        unknown_.insert(value);
        if (!unknown) missing_.insert(node.name);
      }
      if (missing_.erase(node.name) > 0) pass_.missing[node.op_type]++;
    }
  }

  // "": nothing depends on the value, or it is not known how.
  std::string sum_of(const std::string& value) {
    const auto found = terms_.find(value);
    if (found == terms_.end() || unknown_.contains(value)) return "";
    std::vector<std::string>& terms = found->second;
    while (terms.size() > 1) {
      const std::string last = std::move(terms.back());
      terms.pop_back();
      terms.back() = writer_.add(terms.back(), last);
    }
    return terms.front();
  }

 private:
  void go_back(const graph::Node& node, const std::vector<std::string>& gradients, size_t input, bool unknown) {
    const std::string& value = node.inputs[input];
    const DataType type = writer_.type(value);
    if (!needs(value) || is_discrete(type)) return;
    std::optional<std::string> gradient;
    if (!unknown && type == DataType::float32) {
      const Gradient* family = gradient_of(node);
      if (family != nullptr) gradient = family->of_input({node, gradients, writer_}, input);
    }
    if (!gradient) {
      if (!unknown) missing_.insert(node.name);
      unknown_.insert(value);
    } else if (!gradient->empty()) {
      add(value, *gradient);
    }
  }

  ReversePass& pass_;
  NodeWriter& writer_;
  size_t count_ = 0;
  std::set<std::string> needed_;                           // values that depend on those asked for, and these
  std::set<std::string> unknown_;                          // values behind which an operator has no gradient
  std::set<std::string> missing_;                          // the node at hand, when it has none
  std::map<std::string, std::vector<std::string>> terms_;  // value -> what its readers give, to be added
};

}  // namespace

const Gradient* gradient_of(const graph::Node& node) {
  static const auto all = families();
  if (!node.domain.empty()) return nullptr;
  const auto found = all.find(node.op_type);
  return found == all.end() ? nullptr : found->second;
}

ReversePass reverse_pass(const graph::Model& model, const std::vector<std::string>& values,
                         const std::function<std::string(NodeWriter& writer, const std::string& output)>& seeds) {
  ReversePass pass{
      .model = model.opset() < oldest_opset ? graph::raise_opset(model, oldest_opset) : model, .gradients = {}, .missing = {}};
  NodeWriter writer(pass.model, runtime::value_types(pass.model));
  Walk walk(pass, writer, values);
  for (const auto& output : model.outputs) {
    if (output.type == DataType::float32 && walk.needs(output.name)) walk.add(output.name, seeds(writer, output.name));
  }
  walk.run();
  for (const auto& value : values) {
    const std::string gradient = walk.sum_of(value);
    if (!gradient.empty()) pass.gradients[value] = gradient;
  }
  return pass;
}

}  // namespace quasar::tune
