// Groups of operators that get one precision together: a weighted operator with the sums and products of several values behind
// it, operators with one weight between them, and neighbours where there would be more groups than are wanted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quasar/graph/model.hpp"

namespace quasar::tune {

struct OperatorGroups {
  std::vector<std::vector<std::string>> nodes;  // of each group, in topological order, as the groups are

  // The group that each node of the model belongs to or follows: what merely passes values on goes with what writes them.
  std::map<std::string, size_t> of_node;

  // Groups whose errors can meet: one reads what the other writes, or some operator reads both. (first < second), each once.
  std::vector<std::pair<size_t, size_t>> neighbours;
};

// `nodes`: the operators that have precisions of their own, in topological order. `most`: groups, at least 1.
OperatorGroups operator_groups(const graph::Model& model, const std::vector<std::string>& nodes, size_t most);

}  // namespace quasar::tune
