// A sum reads its inputs at one position, the coarsest; the others are shifted by at most 7 bits. Finer ones become coarser.
#include <algorithm>

#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant::rules {
namespace {

constexpr int most_apart = 7;

class ShiftRead final : public Rule {
 public:
  std::vector<Fault> check(const Layer& layer, const Network& network) const override {
    if (!applies(layer, network)) return {};
    const auto [low, high] = ends(layer, network);
    if (high - low <= most_apart) return {};
    return {{"shift_read (difference of the inputs' positions) is " + std::to_string(high - low) + ", more than 7",
             {{"coarsest", low}, {"finest", high}, {"shift_read", high - low}}}};
  }

  void mend(const Layer& layer, Network& network) const override {
    if (!applies(layer, network)) return;
    const int limit = ends(layer, network).first + most_apart;
    for (const auto& input : layer.inputs) {
      if (network.position(input) > limit) network.move(input, limit);
    }
  }

  std::string switched_by() const override { return "AdjustShiftRead"; }

 private:
  static bool applies(const Layer& layer, const Network& network) {
    if (layer.type != "Add" && layer.type != "Sub") return false;
    return std::ranges::all_of(layer.inputs, [&](const auto& input) { return network.shifted(input); });
  }
  static std::pair<int, int> ends(const Layer& layer, const Network& network) {
    int low = network.position(layer.inputs[0]), high = low;
    for (const auto& input : layer.inputs) {
      low = std::min(low, network.position(input));
      high = std::max(high, network.position(input));
    }
    return {low, high};
  }
};

}  // namespace

Entry<Rule> shift_read() {
  return {"the positions of the inputs of Add and Sub differ by at most 7", make_as<ShiftRead, Rule>};
}

}  // namespace quasar::quant::rules
