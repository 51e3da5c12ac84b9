// The nodes that a configuration leaves in float by name, pattern, operator type, or as a stretch of the graph.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::quant {

// -> names of nodes. Each element of `exclude` is a node's name, {regex: pattern} (the whole name must match),
// {op_type: type}, or {from: a, to: b}: a, b and every node on a path between them. Throws Error for an element that matches
// no node (with the nearest name) or is none of these.
std::set<std::string> excluded_nodes(const std::vector<Json>& exclude, const graph::Index& index);

}  // namespace quasar::quant
