// What rewriting a node for a newer opset needs to know of the graph around it. For the sources of graph/ only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace quasar::graph {

struct ConvertOptions {
  int64_t from = 0;                                                       // the node's opset
  int64_t to = 0;                                                         // the wanted one
  std::function<std::string(const std::string&)> fresh;                   // a new name for a value or node, from a wish
  std::function<std::optional<size_t>(const std::string&)> rank;          // of a value, where it is known
  std::function<std::vector<float>(const std::string&)> constant_floats;  // of an initializer, else empty
};

}  // namespace quasar::graph
