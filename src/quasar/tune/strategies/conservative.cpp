// From float towards integers: all operators of one type are quantized, and stay so if the accuracy holds; then the next type.
#include <algorithm>

#include "quasar/tune/fallback.hpp"
#include "quasar/tune/precision.hpp"

namespace quasar::tune::strategies {
namespace {

class Conservative final : public TuningStrategy {
 public:
  void traverse(Tuner& tuner) const override {
    const TuningSpace& space = tuner.space();
    TuneConfig config;
    for (const auto& node : space.nodes) {
      if (node.may_fall_back) config.nodes[node.name] = in_float;
    }
    for (const auto& type : types_of(space)) {
      tuner.tell("quantize every " + type);
      TuneConfig next = config;
      for (const auto& node : space.nodes) {
        if (node.op_type == type && !node.options.empty()) next.nodes.erase(node.name);
      }
      if (tuner.explore(next).is_candidate()) config = std::move(next);
    }
  }

 protected:
  std::string name() const override { return "conservative"; }

 private:
  // Those that carry the work first, the others as they appear.
  static std::vector<std::string> types_of(const TuningSpace& space) {
    std::vector<std::string> types;
    const auto add = [&](const std::string& type) {
      if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
    };
    for (const char* type : {"Conv", "ConvTranspose", "MatMul", "Gemm"}) {
      for (const auto& node : space.nodes) {
        if (node.op_type == type) add(type);
      }
    }
    for (const auto& node : space.nodes) add(node.op_type);
    return types;
  }
};

}  // namespace

Entry<Strategy> conservative() {
  return {.help = "From float to integers, one operator type at a time, as long as the accuracy holds (quant_level 0).",
          .make = make_as<Conservative, Strategy>,
          .aliases = {"O0"}};
}

}  // namespace quasar::tune::strategies
