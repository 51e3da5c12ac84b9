#include "quasar/quant/node_names.hpp"

#include <algorithm>
#include <functional>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/graph/pipeline/pipeline.hpp"
#include "quasar/quant/config/exclude.hpp"
#include "quasar/quant/config/selection.hpp"

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
    : original_(skeleton(graph::opened(original))),
      prepared_(skeleton(prepared)),
      before_(original_),
      after_(prepared_),
      kinds_(find_layer_kinds(graph::Index(prepared))) {
  for (const auto& [name, tensor] : prepared.initializers) constants_.insert(name);
  if (const auto pipeline = graph::pipeline_of(original)) {
    for (const auto& part : pipeline->parts) models_.push_back(part.name);
  }
}

// A node that was written as several: itself, who writes its outputs now, and what was added before that.
std::set<std::string> NodeNames::with_rest(const graph::Node& node) const {
  std::set<std::string> out{node.name};
  std::vector<std::string> open = node.outputs;
  while (!open.empty()) {
    const std::string value = open.back();
    open.pop_back();
    const graph::Node* writer = after_.producer(value);
    if (writer == nullptr || before_.node(writer->name) != nullptr || !out.insert(writer->name).second) continue;
    for (const auto& input : writer->inputs) {
      if (before_.producer(input) == nullptr) open.push_back(input);
    }
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

namespace {

// Selections, rules for types and overrides: what stands for them in the prepared graph.
class Choices {
 public:
  using Named = std::function<std::set<std::string>(const std::string& name, const std::string& key)>;

  Choices(const NodeNames& names, const graph::Index& before, const graph::Index& after, Named named)
      : names_(names), before_(before), after_(after), named_(std::move(named)) {}

  // What nodes of the type were written as, without those that are still of the type. Where none is (Upsample becomes Resize, a
  // BatchNormalization part of its Conv), also what they were folded into.
  std::set<std::string> parts_of(const std::string& type) const {
    const auto is = [&](const graph::Node& node) { return node.is(type); };
    const bool gone = std::ranges::none_of(after_.model().nodes, is);
    std::set<std::string> out;
    for (const auto& node : before_.model().nodes) {
      if (!is(node) || (!gone && after_.node(node.name) == nullptr)) continue;
      out.merge(names_.survivors(node.name));
    }
    std::erase_if(out, [&](const auto& name) { return is(*after_.node(name)); });
    return out;
  }

  // The rule's types by the nodes that stand for them; not those whose own type another rule names.
  void take_parts_along(LayerRule& rule, const std::vector<LayerRule>& all) const {
    for (const auto& type : rule.op_types) {
      const auto has_own_rule = [&](const std::string& name) {
        const graph::Node* came = before_.node(name);
        const std::string& own = (came == nullptr ? after_.node(name) : came)->op_type;
        const auto names_it = [&](const LayerRule& other) {
          return std::ranges::find(other.op_types, own) != other.op_types.end();
        };
        return own != type && std::ranges::any_of(all, names_it);
      };
      for (const auto& name : parts_of(type)) {
        if (!has_own_rule(name)) rule.nodes.push_back(name);
      }
    }
  }

  // What stands for the next nodes above or below in the graph as it came, those left out for which nothing stands.
  std::set<std::string> neighbours(const std::set<std::string>& names, bool upstream) const {
    std::set<std::string> out, seen = names;
    std::vector<std::string> open(names.begin(), names.end());
    const auto visit = [&](const graph::Node* next) {
      if (next == nullptr || !seen.insert(next->name).second) return;
      auto found = names_.survivors(next->name);
      if (found.empty()) open.push_back(next->name);
      out.merge(found);
    };
    while (!open.empty()) {
      const graph::Node& node = *before_.node(open.back());
      open.pop_back();
      if (upstream) {
        for (const auto& input : node.inputs) visit(before_.producer(input));
      } else {
        for (const auto& output : node.outputs) std::ranges::for_each(before_.consumers(output), visit);
      }
    }
    return out;
  }

  // Where something begins or ends: for what clean-up removed, what reads or writes in its place.
  std::set<std::string> ends(const std::string& name, const std::string& key) const {
    std::set<std::string> out = named_(name, key);
    if (!out.empty()) return out;
    const bool upstream = key != "InputNodes";
    out = neighbours(nodes_named(name, before_), upstream);
    if (out.empty())
      throw Error(key + ": clean-up removed '" + name + "', and no node " + (upstream ? "writes" : "reads") + " in its place");
    return out;
  }

  // Where nodes of the chosen types were written as several, the choice is by name: of these types, or a part of one.
  void take_parts_along(Selection& selection) const {
    std::set<std::string> chosen;
    for (const auto& type : selection.op_types) chosen.merge(parts_of(type));
    if (chosen.empty()) return;
    std::set<std::string> types = selection.op_types;
    for (const auto& name : chosen) types.insert(after_.node(name)->op_type);
    for (const auto& node : after_.model().nodes) {
      if (selection.op_types.contains(node.op_type)) chosen.insert(node.name);
    }
    if (!selection.nodes.empty()) std::erase_if(chosen, [&](const auto& name) { return !selection.nodes.contains(name); });
    if (chosen.empty()) return;
    selection.op_types = std::move(types);
    selection.nodes = std::move(chosen);
  }

  Selection resolved(const Selection& selection) const {
    Selection out = selection;
    for (const auto& list : name_lists()) {
      const bool ends_there = list.key != "NodesToQuantize";
      std::set<std::string> found;
      for (const auto& name : selection.*list.names) found.merge(ends_there ? ends(name, list.key) : named_(name, list.key));
      if (found.empty() && !(selection.*list.names).empty())
        throw Error(list.key + ": clean-up removed all nodes of these names: " +
                    joined({(selection.*list.names).begin(), (selection.*list.names).end()}));
      out.*list.names = std::move(found);
    }
    take_parts_along(out);
    for (const auto& type : selection.open_op_types) out.open_nodes.merge(parts_of(type));
    return out;
  }

  void check_values(const TensorOverrides& tensors) const {
    for (const auto& [name, own] : tensors) {
      const auto is_in = [&name](const graph::Index& index) {
        return index.producer(name) != nullptr || !index.consumers(name).empty();
      };
      if (is_in(before_) && !is_in(after_) && !after_.is_output(name))
        throw Error(
            "TensorQuantOverrides: clean-up removed the value '" + name +
            "' before quantization (what wrote or read it was folded into another node); 'OptimizeModel: false' keeps it");
    }
  }

 private:
  const NodeNames& names_;
  const graph::Index &before_, &after_;
  const Named named_;
};

}  // namespace

// The nodes of one model of a pipeline.
std::set<std::string> NodeNames::of_model(const std::string& model) const {
  if (std::ranges::find(models_, model) == models_.end())
    throw Error("models: " + (models_.empty() ? "the model is no pipeline, and has no model '" + model +
                                                    "'; the key models at the top "
                                                    "level of a search's configuration makes one of several files"
                                              : "the pipeline has no model '" + model + "'" + known_names(model, models_)));
  std::set<std::string> out;
  for (const auto& node : prepared_.nodes) {
    if (node.name.starts_with(model + "/")) out.insert(node.name);
  }
  return out;
}

Config NodeNames::resolved(const Config& config) const {
  const Choices choices(*this, before_, after_,
                        [this](const std::string& name, const std::string& key) { return named(name, key); });
  Config out = config;
  std::set<std::string> excluded;
  for (const auto& element : config.exclude) excluded.merge(selected(element));
  out.exclude.assign(excluded.begin(), excluded.end());
  for (auto& rule : out.layers) {
    std::set<std::string> nodes;
    for (const auto& name : rule.nodes) nodes.merge(rule.model.empty() ? named(name, "specific_layer_config") : of_model(name));
    rule.nodes.assign(nodes.begin(), nodes.end());
    for (const auto& type : rule.op_types) {
      if (!has_type(type)) require_known_type(type, "layer_type_config");
    }
    choices.take_parts_along(rule, config.layers);
  }
  out.selection = choices.resolved(config.selection);
  choices.check_values(config.tensors);
  return with_kinds(std::move(out), kinds_);
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
  std::ranges::move(notes_on_kinds(config, kinds_), std::back_inserter(out));
  return out;
}

}  // namespace quasar::quant
