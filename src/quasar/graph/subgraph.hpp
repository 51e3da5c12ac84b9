// Looking into the graphs that attributes of If, Loop and Scan hold. For the sources of graph/ only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace quasar::graph {

// Calls `visit` for every graph in the node's attributes and for those nested in them, outer ones first.
void visit_subgraphs(const Node& node, const std::function<void(const onnx::GraphProto&)>& visit);

// The outer values that the node's subgraphs read, nested ones included, in the order of their first use.
std::vector<std::string> captures_of(const onnx::NodeProto& node);

}  // namespace quasar::graph
