#include "quasar/quant/config/exclude.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <regex>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/config/quantizable.hpp"

namespace quasar::quant {
namespace {

using NodeNames = std::set<std::string>;

[[noreturn]] void refuse(const std::string& name, const graph::Index& index) {
  std::vector<std::string> known;
  for (const auto& node : index.model().nodes) known.push_back(node.name);
  const bool pattern = name.find_first_of("^$*+?[]|()\\") != std::string::npos;
  throw Error("exclude: the model has no node '" + name + "'" + did_you_mean(name, known) +
              (pattern ? "; a regular expression is written {regex: '" + name + "'}" : ""));
}

NodeNames named(const std::string& name, const graph::Index& index) {
  NodeNames out = nodes_named(name, index);
  if (out.empty()) refuse(name, index);
  return out;
}

NodeNames nodes_where(const graph::Model& model, const std::function<bool(const graph::Node&)>& holds, const std::string& what) {
  NodeNames out;
  for (const auto& node : model.nodes) {
    if (holds(node)) out.insert(node.name);
  }
  if (out.empty()) throw Error("exclude: no node of the model matches " + what);
  return out;
}

NodeNames matching(const std::string& pattern, const graph::Model& model) {
  try {
    const std::regex regex(pattern);
    return nodes_where(
        model, [&](const graph::Node& node) { return std::regex_match(node.name, regex); }, "regex '" + pattern + "'");
  } catch (const std::regex_error& error) {
    throw Error("exclude: '" + pattern + "' is not a regular expression: " + error.what());
  }
}

using Neighbours = std::function<void(const graph::Node&, const std::function<void(const graph::Node*)>&)>;

NodeNames reachable(const NodeNames& starts, const graph::Index& index, const Neighbours& neighbours) {
  NodeNames seen = starts;
  std::vector<const graph::Node*> open;
  for (const auto& name : starts) open.push_back(index.node(name));
  while (!open.empty()) {
    const graph::Node* node = open.back();
    open.pop_back();
    neighbours(*node, [&](const graph::Node* next) {
      if (next != nullptr && seen.insert(next->name).second) open.push_back(next);
    });
  }
  return seen;
}

// From any node of this name or scope to any of the other.
NodeNames between(const std::string& from, const std::string& to, const graph::Index& index) {
  const auto forward = reachable(named(from, index), index, [&](const graph::Node& node, const auto& visit) {
    for (const auto& value : node.outputs) std::ranges::for_each(index.consumers(value), visit);
  });
  const auto backward = reachable(named(to, index), index, [&](const graph::Node& node, const auto& visit) {
    for (const auto& value : node.inputs) visit(index.producer(value));
    for (const auto& value : node.captures) visit(index.producer(value));
  });
  NodeNames out;
  std::ranges::set_intersection(forward, backward, std::inserter(out, out.end()));
  if (out.empty()) throw Error("exclude: no path leads from '" + from + "' to '" + to + "'");
  return out;
}

NodeNames selected(const Json& element, const graph::Index& index) {
  const auto has = [&](const char* key) { return element.contains(key) && element.at(key).is_string(); };
  const auto text = [&](const char* key) { return element.at(key).get<std::string>(); };
  if (element.is_string()) return named(element.get<std::string>(), index);
  if (element.is_object() && element.size() == 1 && has("name")) return named(text("name"), index);
  if (element.is_object() && element.size() == 1 && has("regex")) return matching(text("regex"), index.model());
  if (element.is_object() && element.size() == 1 && has("op_type")) {
    return nodes_of_type(text("op_type"), index.model(), "exclude");
  }
  if (element.is_object() && element.size() == 2 && has("from") && has("to")) return between(text("from"), text("to"), index);
  throw Error("exclude: " + element.dump() + " is not a name, {regex: …}, {op_type: …} or {from: …, to: …}");
}

}  // namespace

std::set<std::string> nodes_named(const std::string& name, const graph::Index& index) {
  if (index.node(name) != nullptr) return {name};
  NodeNames out;
  for (const auto& node : index.model().nodes) {
    if (!name.empty() && node.name.starts_with(name + "/")) out.insert(node.name);
  }
  return out;
}

namespace {

std::string known_type(const std::string& type, const std::string& key) {
  try {
    return selectable_type(key, type);
  } catch (const Error& error) {
    const std::string what = error.what();
    throw Error(what + (what.ends_with('?') ? " If '" : "; if '") + type +
                "' is a function that the model defines, give the name of its call instead");
  }
}

}  // namespace

void require_known_type(const std::string& type, const std::string& key) {
  if (const std::string known = known_type(type, key); known != type)
    throw Error(key + ": the model has no node of type '" + type + "'; did you mean '" + known + "'?");
}

std::set<std::string> nodes_of_type(const std::string& type, const graph::Model& model, const std::string& key) {
  NodeNames out;
  for (const auto& node : model.nodes) {
    if (node.op_type == type) out.insert(node.name);
  }
  if (out.empty()) require_known_type(type, key);
  return out;
}

std::set<std::string> excluded_nodes(const std::vector<Json>& exclude, const graph::Index& index) {
  NodeNames out;
  for (const auto& element : exclude) out.merge(selected(element, index));
  return out;
}

}  // namespace quasar::quant
