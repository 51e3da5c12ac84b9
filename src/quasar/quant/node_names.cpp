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
    : original_(skeleton(original)), prepared_(skeleton(prepared)), before_(original_), after_(prepared_) {
  for (const auto& [name, tensor] : prepared.initializers) constants_.insert(name);
}

// A node that was written as several: itself, and who writes its outputs now.
std::set<std::string> NodeNames::with_rest(const graph::Node& node) const {
  std::set<std::string> out{node.name};
  for (const auto& value : node.outputs) {
    const graph::Node* writer = after_.producer(value);
    if (writer != nullptr && before_.node(writer->name) == nullptr) out.insert(writer->name);
  }
  return out;
}

// The node itself; else who writes its output now; else, where it is one part of a fused pattern, who writes the pattern's
// output.
std::set<std::string> NodeNames::survivors(const std::string& start) const {
  std::set<std::string> out, seen;
  std::vector<std::string> open{start};
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (!seen.insert(name).second) continue;
    const graph::Node* node = before_.node(name);
    if (after_.node(name) != nullptr) {
      if (name == start) return with_rest(*node);
      continue;
    }
    bool found = false;
    for (const auto& value : node->outputs) {
      if (const graph::Node* writer = after_.producer(value)) out.insert(writer->name), found = true;
      found = found || constants_.contains(value);
    }
    if (found) continue;
    for (const auto& value : node->outputs) {
      for (const graph::Node* reader : before_.consumers(value)) {
        const graph::Node* kept = after_.node(reader->name);
        if (kept == nullptr) {
          open.push_back(reader->name);
        } else if (const graph::Node* twin = twin_of(*node, *reader, *kept, after_)) {
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
    for (const auto& name : excluded_nodes({element}, before_)) out.merge(survivors(name));
  } catch (const Error& error) {
    missing = error.what();
  }
  try {
    out.merge(excluded_nodes({element}, after_));
  } catch (const Error&) {
    if (!missing.empty()) throw Error(missing);
  }
  return out;
}

std::set<std::string> NodeNames::named(const std::string& name, const std::string& key) const {
  const auto nodes = nodes_named(name, before_);
  std::set<std::string> out;
  for (const auto& node : nodes) out.merge(survivors(node));
  if (nodes.empty()) out = nodes_named(name, after_);
  if (!nodes.empty() || !out.empty()) return out;
  std::vector<std::string> known;
  for (const auto& node : original_.nodes) known.push_back(node.name);
  throw Error(key + ": the model has no node '" + name + "'" + did_you_mean(name, known));
}

bool NodeNames::has_type(const std::string& type) const {
  const auto is = [&](const graph::Node& node) { return node.op_type == type; };
  return std::ranges::any_of(original_.nodes, is) || std::ranges::any_of(prepared_.nodes, is);
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
      if (!has_type(type)) require_known_type(type, "layer_type_config");
    }
  }
  return out;
}

std::vector<std::string> NodeNames::notes(const Config& config) const {
  std::vector<std::string> out;
  const auto note = [&](const std::string& key, const std::string& type) {
    if (!has_type(type)) out.push_back(key + ": the model has no node of type '" + type + "'");
  };
  for (const auto& element : config.exclude) {
    if (element.is_object() && element.contains("op_type")) note("exclude", element.at("op_type").get<std::string>());
  }
  for (const auto& rule : config.layers) {
    for (const auto& type : rule.op_types) note("layer_type_config", type);
  }
  return out;
}

}  // namespace quasar::quant
