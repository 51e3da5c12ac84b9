#include "quasar/strategy/tuner.hpp"

namespace quasar::tune::strategies {
namespace {

constexpr size_t most_looked_at = 256;  // combinations for one step: there may be many in which nothing is quantized

class Exhaustive final : public TuningStrategy {
 public:
  // The product of all operators' options in order, the last operator fastest, made as they are needed; for each scheme (weights
  // only) and each of SmoothQuant's alphas. What quantizes nothing is left out.
  void traverse(Tuner& tuner) const override {
    tuner.tell("every combination of options");
    const auto& schemes = tuner.space().schemes;
    const auto& alphas = tuner.context().job.tuning.smooth_alphas;
    std::string left_out;  // why the last one was
    for (const auto& scheme : schemes) combine(tuner, {{"scheme", scheme}}, left_out);
    for (const auto& alpha : alphas) combine(tuner, {{"SmoothAlpha", alpha}}, left_out);
    if (schemes.empty() && alphas.empty()) combine(tuner, {}, left_out);
    if (!tuner.best()) tuner.warn(left_out);
  }

 protected:
  std::string name() const override { return "exhaustive"; }
  bool falls_back() const override { return false; }

 private:
  static void combine(Tuner& tuner, const std::map<std::string, Json>& settings, std::string& left_out) {
    const auto& nodes = tuner.space().nodes;
    std::vector<std::vector<Json>> options;
    for (const auto& node : nodes) options.push_back(node.all_options());
    std::vector<size_t> digits(nodes.size(), 0);
    std::vector<TuneConfig> together;
    size_t looked_at = 0;
    for (bool more = true; more;) {
      TuneConfig config{.nodes = {}, .settings = settings};
      for (size_t i = 0; i < nodes.size(); i++) {
        if (digits[i] > 0) config.nodes[nodes[i].name] = options[i][digits[i]];
      }
      if (std::string why = tuner.why_impossible(config); why.empty()) {
        together.push_back(std::move(config));
      } else {
        left_out = std::move(why);
      }
      size_t place = nodes.size();
      while (place > 0 && ++digits[place - 1] >= options[place - 1].size()) digits[--place] = 0;
      more = place > 0;
      if (more && together.size() < tuner.at_once() && ++looked_at < most_looked_at) continue;
      tuner.evaluate(together);  // of none, too: time passes
      together.clear();
      looked_at = 0;
    }
  }
};

}  // namespace

Entry<Strategy> exhaustive() {
  return {.help = "Every combination of the operators' options, in order; no fallback.", .make = make_as<Exhaustive, Strategy>};
}

}  // namespace quasar::tune::strategies
