// What rewrites and placement look up in a graph: who reads a value, and the value of a constant that has one.
#pragma once

#include <optional>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::graph {

// In how many places the value is read, graph outputs and subgraphs included.
size_t readers(const std::string& value, const Index& index);

// The only node that reads the value, and that once; nullptr: there are several or none, or the graph or a subgraph hands it out.
const Node* sole_reader(const std::string& value, const Index& index);

// The same, where it is of this type; nullptr: it is not.
const Node* sole_reader(const std::string& value, std::string_view type, const Index& index);

// Whether operators of this type compute on codes themselves, or hold weights in codes, without pairs around them.
bool has_own_codes(std::string_view op_type);

// The only element of a float32 constant; nullopt: it is no such constant, or has several elements.
std::optional<float> single_value(const std::string& value, const Model& model);

}  // namespace quasar::graph
