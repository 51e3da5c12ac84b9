// From float towards integers: all operators of one type are quantized, and stay so if the accuracy holds; then the next type.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "quasar/strategy/fallback.hpp"

namespace quasar::tune::strategies {
namespace {

class Conservative final : public TuningStrategy {
 public:
  void traverse(Tuner& tuner) const override {
    const TuningSpace& space = tuner.space();
    TuneConfig config;
    for (const auto& node : space.nodes) {
      if (!node.floats.empty()) config.nodes[node.name] = node.floats.back();
    }
    std::optional<double> lost = loss_without_a_trial(config, space);
    std::vector<std::string> skipped;
    std::string why;  // of the first one
    for (const auto& type : types_of(space)) {
      TuneConfig next = config;
      for (const auto& node : of_type(type, space)) next.nodes.erase(node);
      if (const std::string impossible = tuner.why_impossible(next); !impossible.empty()) {
        if (next.nodes == config.nodes) continue;
        // The target runs none of them, not as the model is by now.
        if (skipped.empty()) why = impossible;
        skipped.push_back(type);
        tuner.tell_refused(of_type(type, space), {.why = "not tried: " + impossible});
        continue;
      }
      const Attempt attempt = quantized_type(tuner, type, next);
      const double loses = tuner.loss(attempt.trial);
      if (attempt.trial.is_candidate()) {
        config = attempt.config;
        lost = loses;
      } else {
        const bool known = lost && std::isfinite(loses);
        tuner.tell_refused(of_type(type, space), {.why = "quantize every " + type + ": " + tuner.why_missed(attempt.trial),
                                                  .gained = known ? std::optional(loses - *lost) : std::nullopt});
      }
    }
    if (!skipped.empty()) tuner.warn("conservative did not try to quantize " + joined(skipped) + ": " + why);
    if (tuner.met()) cheapen(tuner, std::move(config));
  }

 protected:
  std::string name() const override { return "conservative"; }

 private:
  // The first attempt that meets the goal, or the one that loses least.
  static Attempt quantized_type(Tuner& tuner, const std::string& type, const TuneConfig& plain) {
    tuner.tell("quantize every " + type);
    Attempt best{plain, tuner.explore(plain)};
    std::vector<TuneConfig> others = with_alphas(type, plain, tuner.context().job.tuning.smooth_alphas);
    std::ranges::move(with_dynamic(type, plain, tuner.space()), std::back_inserter(others));
    for (TuneConfig& other : others) {
      if (best.trial.is_candidate()) break;
      const search::Trial trial = tuner.explore(other);
      if (trial.is_candidate() || tuner.better(trial, best.trial)) best = {std::move(other), trial};
    }
    return best;
  }

  // The float model loses nothing.
  static std::optional<double> loss_without_a_trial(const TuneConfig& config, const TuningSpace& space) {
    const bool is_float = config.in_float().size() == space.nodes.size();
    return is_float ? std::optional(0.0) : std::nullopt;
  }

  // Those that have options.
  static std::vector<std::string> of_type(const std::string& type, const TuningSpace& space) {
    std::vector<std::string> names;
    for (const auto& node : space.nodes) {
      if (node.op_type == type && !node.all_options().empty()) names.push_back(node.name);
    }
    return names;
  }

  // What stayed in float goes to cheaper types, an operator type at a time, as long as the accuracy holds.
  static void cheapen(Tuner& tuner, TuneConfig config) {
    for (const auto& type : types_of(tuner.space())) {
      tuner.tell("a cheaper float type for every " + type);
      for (TuneConfig& cheaper : with_cheaper_floats(type, config, tuner.space())) {
        if (!tuner.explore(cheaper).is_candidate()) continue;
        config = std::move(cheaper);
        break;
      }
    }
  }

  // SmoothQuant's other alphas, where this type is what it smooths the inputs of.
  static std::vector<TuneConfig> with_alphas(const std::string& type, const TuneConfig& config, const std::vector<Json>& alphas) {
    std::vector<TuneConfig> out;
    if (alphas.empty() || (type != "MatMul" && type != "Gemm")) return out;
    const auto set = config.settings.find("SmoothAlpha");
    const Json now = set == config.settings.end() ? alphas.front() : set->second;
    for (const auto& alpha : alphas) {
      if (alpha == now) continue;
      out.push_back(config);
      out.back().settings["SmoothAlpha"] = alpha;
    }
    return out;
  }

  // Approach auto: what of this type can, with ranges found at run time.
  static std::vector<TuneConfig> with_dynamic(const std::string& type, const TuneConfig& config, const TuningSpace& space) {
    TuningSpace only = space;
    for (auto& node : only.nodes) {
      if (node.op_type != type) node.dynamic.clear();
    }
    return tune::with_dynamic(config, only);
  }

  // This type's operators in the float types that are cheaper than the one that they are in, from the cheapest.
  static std::vector<TuneConfig> with_cheaper_floats(const std::string& type, const TuneConfig& config,
                                                     const TuningSpace& space) {
    std::vector<TuneConfig> out;
    for (const auto& wanted : fallback_types(space)) {
      TuneConfig cheaper = config;
      for (const auto& node : space.nodes) {
        const auto now = cheaper.nodes.find(node.name);
        const bool in_a_float = now != cheaper.nodes.end() && now->second.is_string() && now->second != quantized;
        if (node.op_type == type && in_a_float) now->second = float_type_of(node, wanted);
      }
      if (cheaper.nodes != config.nodes) out.push_back(std::move(cheaper));
    }
    return out;
  }

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
