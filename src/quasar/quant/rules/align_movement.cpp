// Operators that move values (Reshape, Transpose, Resize …) keep the position.
#include <algorithm>
#include <array>

#include "quasar/quant/positions.hpp"

namespace quasar::quant::rules {
namespace {

constexpr std::array<std::string_view, 8> movements = {"Reshape",   "Flatten", "Squeeze",      "Unsqueeze",
                                                       "Transpose", "Gather",  "DepthToSpace", "SpaceToDepth"};

class AlignMovement final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (std::ranges::find(movements, layer.type) == movements.end()) return {};
    return unequal_positions(layer, network);
  }
};

}  // namespace

Entry<Rule> align_movement() {
  return {"Reshape, Transpose … keep the position", make_as<AlignMovement, Rule>};
}

}  // namespace quasar::quant::rules
