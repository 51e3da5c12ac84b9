#include "quasar/quant/config/recipes.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::quant {
namespace {

const std::string first_layer = "first_conv_or_matmul_quantization", last_layer = "last_conv_or_matmul_quantization",
                  both_ends = "pre_post_process_quantization";

// Nodes with a weighted layer before them (in the direction of the walk), or that are one.
class Reach {
 public:
  explicit Reach(std::set<std::string> layers) : nodes_(std::move(layers)) {}

  void forward(const graph::Index& index) {
    for (const auto& node : index.model().nodes) {
      const auto reached = [&](const std::string& value) {
        const graph::Node* producer = index.producer(value);
        return producer != nullptr && nodes_.contains(producer->name);
      };
      if (std::ranges::any_of(node.inputs, reached) || std::ranges::any_of(node.captures, reached)) nodes_.insert(node.name);
    }
  }

  void backward(const graph::Index& index) {
    const auto& nodes = index.model().nodes;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const auto reached = [&](const std::string& value) {
        return std::ranges::any_of(index.consumers(value),
                                   [&](const graph::Node* reader) { return nodes_.contains(reader->name); });
      };
      if (std::ranges::any_of(node->outputs, reached)) nodes_.insert(node->name);
    }
  }

  bool contains(const std::string& node) const { return nodes_.contains(node); }

 private:
  std::set<std::string> nodes_;
};

}  // namespace

std::vector<std::string> recipe_keys() {
  return {first_layer, last_layer, both_ends, "recipes"};
}

std::set<std::string> recipes_off(const Json& words) {
  Json given = Json::object();
  for (const auto& key : {first_layer, last_layer, both_ends}) {
    if (words.contains(key)) given[key] = words.at(key);
  }
  if (const Json recipes = words.value("recipes", Json()); !recipes.is_null()) {
    if (!recipes.is_object()) throw Error("recipes must be a mapping, not " + recipes.dump());
    given.update(recipes);
  }
  std::set<std::string> off;
  for (const auto& [key, value] : given.items()) {
    const std::vector<std::string> known{first_layer, last_layer, both_ends};
    if (std::ranges::find(known, key) == known.end())
      throw Error("unknown recipe '" + key + "'; known: " + joined(known) + did_you_mean(key, known));
    if (!value.is_null() && !value.is_boolean()) throw Error(key + " is " + value.dump() + ", but must be true or false");
    if (value == false) off.insert(key);
  }
  return off;
}

std::set<std::string> left_by_recipes(const std::set<std::string>& off, const graph::Index& index,
                                      const std::map<std::string, ops::Roles>& candidates) {
  std::vector<std::string> layers;  // in the graph's order
  for (const auto& node : index.model().nodes) {
    const auto found = candidates.find(node.name);
    if (found != candidates.end() && found->second.kind == ops::Kind::compute && !found->second.activations.empty())
      layers.push_back(node.name);
  }
  std::set<std::string> out;
  if (layers.empty() || off.empty()) return out;
  if (off.contains(first_layer)) out.insert(layers.front());
  if (off.contains(last_layer)) out.insert(layers.back());
  if (!off.contains(both_ends)) return out;
  Reach behind({layers.begin(), layers.end()}), before({layers.begin(), layers.end()});
  behind.forward(index);
  before.backward(index);
  for (const auto& [name, roles] : candidates) {
    if (!behind.contains(name) || !before.contains(name)) out.insert(name);
  }
  return out;
}

}  // namespace quasar::quant
