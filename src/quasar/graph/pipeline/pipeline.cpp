#include "quasar/graph/pipeline/pipeline.hpp"

#include <set>

namespace quasar::graph {

std::vector<std::string> Pipeline::crossing() const {
  std::set<std::string> read;
  std::vector<std::string> out;
  for (const auto& part : parts) {
    for (const auto& port : part.inputs) read.insert(port.value);
  }
  for (const auto& part : parts) {
    for (const auto& port : part.outputs) {
      if (read.contains(port.value)) out.push_back(port.value);
    }
  }
  return out;
}

std::string part_of_node(const std::string& node, const Pipeline& pipeline) {
  for (const auto& part : pipeline.parts) {
    if (node.starts_with(part.name + "/")) return part.name;
  }
  return "";
}

}  // namespace quasar::graph
