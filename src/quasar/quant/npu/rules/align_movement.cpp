// Operators that move values (Reshape, Transpose, Resize to the nearest …) keep the position.
#include <algorithm>
#include <array>

#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

constexpr std::array<std::string_view, 13> movements = {"Reshape",      "Flatten",   "Squeeze",  "Unsqueeze", "Transpose",
                                                        "Gather",       "Expand",    "Tile",     "Resize",    "DepthToSpace",
                                                        "SpaceToDepth", "ReduceMax", "ReduceMin"};

class AlignMovement final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (layer.interpolates || std::ranges::find(movements, layer.type) == movements.end()) return {};
    return unequal_positions(layer, network);
  }
};

}  // namespace

Entry<Rule> align_movement() {
  return {"Reshape, Transpose … keep the position", make_as<AlignMovement, Rule>};
}

}  // namespace quasar::quant::rules
