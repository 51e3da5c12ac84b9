// The nodes that a configuration leaves in float by name, pattern, operator type, or as a stretch of the graph.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::quant {

// The node of this name; where there is none, the nodes below it, "NAME/…": those of a scope, as exporters write it into names,
// or of a call of a local function. Empty: neither.
std::set<std::string> nodes_named(const std::string& name, const graph::Index& index);

// -> names of nodes. Each element of `exclude` is a node's name or scope, {regex: pattern} (the whole name must match),
// {op_type: type}, or {from: a, to: b}: a, b (names or scopes) and every node on a path
// between them. Throws Error for a name or pattern that
// matches no node (with the nearest name), for a type as nodes_of_type does, and for what is none of these.
std::set<std::string> excluded_nodes(const std::vector<Json>& exclude, const graph::Index& index);

// -> names of the nodes of this operator type; none, where the model has no such node but the type has a quantized form: one
// configuration may serve many models. Throws Error for other types, with the key and the nearest type.
std::set<std::string> nodes_of_type(const std::string& type, const graph::Model& model, const std::string& key);
void require_known_type(const std::string& type, const std::string& key);

}  // namespace quasar::quant
