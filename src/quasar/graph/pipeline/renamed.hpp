// A model with other names throughout, graphs in attributes included. For the sources of graph/pipeline only.
#pragma once

#include <functional>
#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::graph {

struct NewNames {
  std::function<std::string(const std::string&)> value;   // of values and weights; never asked for ""
  std::function<std::string(const std::string&)> node;    // of the graph's own nodes; those in attributes keep theirs
  std::function<std::string(const std::string&)> symbol;  // of dimensions that are not fixed
};

// `value` must give different values different names; two names may become one only where the caller means the same value.
Model renamed(Model model, const NewNames& names);

}  // namespace quasar::graph
