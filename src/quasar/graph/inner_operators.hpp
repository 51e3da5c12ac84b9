// What stands inside of If, Loop and Scan.
#pragma once

#include <map>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// The operators of ONNX's own domain in the graphs of a node's attributes, nested ones included: type -> how many.
std::map<std::string, size_t> inner_operators(const Node& node);

}  // namespace quasar::graph
