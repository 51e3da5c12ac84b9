#include "quasar/tune/tuner.hpp"

namespace quasar::tune::strategies {
namespace {

class Exhaustive final : public TuningStrategy {
 public:
  // The product of all operators' options in order, the last operator fastest, made one by one.
  void traverse(Tuner& tuner) const override {
    const auto& nodes = tuner.space().nodes;
    std::vector<std::vector<Json>> options;
    for (const auto& node : nodes) options.push_back(node.all_options());
    std::vector<size_t> digits(nodes.size(), 0);
    for (bool more = true; more;) {
      TuneConfig config;
      for (size_t i = 0; i < nodes.size(); i++) {
        if (digits[i] > 0) config.nodes[nodes[i].name] = options[i][digits[i]];
      }
      tuner.evaluate(config);
      size_t place = nodes.size();
      while (place > 0 && ++digits[place - 1] >= options[place - 1].size()) digits[--place] = 0;
      more = place > 0;
    }
  }

 protected:
  std::string name() const override { return "exhaustive"; }
  bool falls_back() const override { return false; }
};

}  // namespace

Entry<Strategy> exhaustive() {
  return {.help = "Every combination of the operators' options, in order; no fallback.", .make = make_as<Exhaustive, Strategy>};
}

}  // namespace quasar::tune::strategies
