// Which nodes a configuration wants quantized, by type, name and place: OpTypesToQuantize, NodesToQuantize, InputNodes …
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::quant {

struct Selection {
  std::set<std::string> op_types;                   // only these; empty: all
  std::set<std::string> nodes;                      // only these; empty: all
  std::set<std::string> input_nodes, output_nodes;  // nothing before the first, nothing behind the last
  std::set<std::string> open_op_types, open_nodes;  // their outputs are not quantized for their own sake
  std::set<std::string> fused;                      // "Mul Add": no pair between a Mul and an Add that alone reads it
  bool operator==(const Selection&) const = default;
};

// OpTypesToQuantize, NodesToQuantize, InputNodes, OutputNodes, OpTypesToExcludeOutputQuantization,
// NodesToExcludeOutputQuantization, RemoveQDQBetweenOps.
std::vector<std::string> selection_keys();

// Throws Error for a value that is no list of names, and for a type that has no quantized form (with the nearest one that has).
void parse_selection(Selection& selection, const std::string& key, const Json& value);

Json to_json(const Selection& selection);

// The lists of a selection that hold names of nodes.
struct NameList {
  std::string key;
  std::set<std::string> Selection::*names;
};

const std::vector<NameList>& name_lists();

// Why a node is not quantized, by name, of those that the selection leaves out. Throws Error for a name that no node has.
std::map<std::string, std::string> left_out(const Selection& selection, const graph::Index& index);

// The words of exclude (see exclude.hpp) for NodesToExclude, OpTypesToExclude and SubgraphsToExclude ([[[starts], [ends]], …]).
std::vector<std::string> exclusion_keys();
std::vector<Json> parse_exclusion(const std::string& key, const Json& value);

}  // namespace quasar::quant
