#include "quasar/ops/movers.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace quasar::ops {
namespace {

constexpr std::array<std::string_view, 6> keeping = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"};
constexpr std::array<std::string_view, 8> choosing = {"Slice",  "Split", "Gather",       "GatherND",
                                                      "Expand", "Tile",  "DepthToSpace", "SpaceToDepth"};

bool is_among(const auto& types, const graph::Node& node) {
  return node.domain.empty() && std::ranges::find(types, node.op_type) != types.end();
}

}  // namespace

bool only_moves(const graph::Node& node) {
  return keeps_all(node) || is_among(choosing, node);
}

bool keeps_all(const graph::Node& node) {
  return is_among(keeping, node);
}

}  // namespace quasar::ops
