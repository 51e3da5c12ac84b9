#include "quasar/quant/node_names.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/exclude.hpp"

namespace quasar::quant {
namespace {

graph::Model skeleton(const graph::Model& model) {
  graph::Model out;
  out.opsets = model.opsets;
  out.nodes = model.nodes;
  out.outputs = model.outputs;
  for (auto& node : out.nodes) node.attributes.clear();
  return out;
}

// The producer of what `reader` reads in the place of `value`, when it is of the same type: a node that did the same.
const graph::Node* twin_of(const graph::Node& node, const graph::Node& reader, const graph::Node& kept,
                           const graph::Index& prepared) {
  for (size_t i = 0; i < std::min(reader.inputs.size(), kept.inputs.size()); i++) {
    if (std::ranges::find(node.outputs, reader.inputs[i]) == node.outputs.end()) continue;
    const graph::Node* producer = prepared.producer(kept.inputs[i]);
    if (producer != nullptr && producer->op_type == node.op_type) return producer;
  }
  return nullptr;
}

}  // namespace

NodeNames::NodeNames(const graph::Model& original, const graph::Model& prepared)
    : original_(skeleton(original)), prepared_(skeleton(prepared)) {
  for (const auto& [name, tensor] : prepared.initializers) constants_.insert(name);
}

// The node itself; else who writes its output now; else, where it is one part of a fused pattern, who writes the pattern's
// output.
std::set<std::string> NodeNames::survivors(const std::string& start) const {
  const graph::Index before(original_), after(prepared_);
  std::set<std::string> out, seen;
  std::vector<std::string> open{start};
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (!seen.insert(name).second) continue;
    const graph::Node* node = before.node(name);
    if (after.node(name) != nullptr) {
      if (name == start) return {name};
      continue;
    }
    bool found = false;
    for (const auto& value : node->outputs) {
      if (const graph::Node* writer = after.producer(value)) out.insert(writer->name), found = true;
      found = found || constants_.contains(value);
    }
    if (found) continue;
    for (const auto& value : node->outputs) {
      for (const graph::Node* reader : before.consumers(value)) {
        const graph::Node* kept = after.node(reader->name);
        if (kept == nullptr) {
          open.push_back(reader->name);
        } else if (const graph::Node* twin = twin_of(*node, *reader, *kept, after)) {
          out.insert(twin->name);
        }
      }
    }
  }
  return out;
}

std::set<std::string> NodeNames::selected(const Json& element) const {
  std::set<std::string> out;
  std::string missing;
  try {
    for (const auto& name : excluded_nodes({element}, graph::Index(original_))) out.merge(survivors(name));
  } catch (const Error& error) {
    missing = error.what();
  }
  try {
    out.merge(excluded_nodes({element}, graph::Index(prepared_)));
  } catch (const Error&) {
    if (!missing.empty()) throw Error(missing);
  }
  return out;
}

std::set<std::string> NodeNames::named(const std::string& name, const std::string& key) const {
  if (graph::Index(original_).node(name) != nullptr) return survivors(name);
  if (graph::Index(prepared_).node(name) != nullptr) return {name};
  std::vector<std::string> known;
  for (const auto& node : original_.nodes) known.push_back(node.name);
  throw Error(key + ": the model has no node '" + name + "'" + did_you_mean(name, known));
}

Config NodeNames::resolved(const Config& config) const {
  Config out = config;
  std::set<std::string> excluded;
  for (const auto& element : config.exclude) excluded.merge(selected(element));
  out.exclude.assign(excluded.begin(), excluded.end());
  for (auto& rule : out.layers) {
    std::set<std::string> nodes;
    for (const auto& name : rule.nodes) nodes.merge(named(name, "specific_layer_config"));
    rule.nodes.assign(nodes.begin(), nodes.end());
    for (const auto& type : rule.op_types) {
      const auto is = [&](const graph::Node& node) { return node.op_type == type; };
      if (std::ranges::none_of(original_.nodes, is) && std::ranges::none_of(prepared_.nodes, is))
        throw Error("layer_type_config: no node of the model is of type '" + type + "'");
    }
  }
  return out;
}

}  // namespace quasar::quant
