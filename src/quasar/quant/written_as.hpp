// Which float operators are written as others of the same function (WrittenAs in plan.hpp), and how.
#pragma once

#include <map>
#include <set>
#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"

namespace quasar::quant {

// The operators of x · (1 + erf(x / √2)) / 2, in either order of the products, whose values nobody else reads; in float32.
struct GeluParts {
  std::string input;            // x
  std::set<std::string> nodes;  // by name
};
// By the name of the last one.
std::map<std::string, GeluParts> gelus_in_parts(const graph::Index& index);

// What nodes are written as on this target. Of `quantized` nodes HardSigmoid and Clip alone; of the others none that is a
// HardSigmoid whose result others read.
std::map<std::string, WrittenAs> written_as(const graph::Index& index, const Target& target,
                                            const std::map<std::string, NodePlan>& quantized);

// Writes those of the nodes that are in the model. What takes a node's place keeps its name.
void write_as(graph::Model& model, const std::map<std::string, WrittenAs>& nodes);

}  // namespace quasar::quant
