#include "quasar/rounding/window_cut.hpp"

#include <algorithm>

namespace quasar::tune {
namespace {

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

}  // namespace

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

}  // namespace quasar::tune
