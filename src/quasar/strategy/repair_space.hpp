// What strategy `repair` varies: repairs that cost nothing at run time, and for each operator the rungs between 8 bits and float.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/job/job.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::tune {

// A precision that costs more than 8 bits.
struct Rung {
  std::string name;             // dynamic, A16W8, float16, float32
  Json choice;                  // of the parameter "node X"
  std::set<std::string> nodes;  // that can have it
};

// The repairs for this target and approach, in the order in which they are tried: what helps most first.
Json repairs_for(const std::string& target, Approach approach);

// The operators that may be given up, in topological order.
std::vector<std::string> repairable_nodes(Approach approach, const Json& search_space, const graph::Model& model,
                                          const quant::Target& target);

// From the cheapest to float32, without those that the target would only simulate, or that nothing in this space could have:
// ranges at run time with approach auto; 16-bit activations and 16-bit floats where the target computes in them.
std::vector<Rung> rungs_of(Approach approach, const Json& search_space, const graph::Model& model, const quant::Target& target);

// The space with the choices of each node: quantized, its rungs. Throws Error when there is no such node.
Json with_rungs(Approach approach, Json search_space, const graph::Model& model, const quant::Target& target);

}  // namespace quasar::tune
