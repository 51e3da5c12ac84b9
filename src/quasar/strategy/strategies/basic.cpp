// The stages of Intel Neural Compressor's default: with approach weight_only its named configurations first; default
// configuration, all recipes, options by operator type, recipes one by one; then fallback by blocks, by single operators, and
// accumulated in the order of what each single one brought.
//
// Unlike there, the stages share the budget: options take at most a third of the trials, and where there are more operators than
// half of the trials left, the single fallback takes the most sensitive ones, so that the accumulated stage is always reached;
// what was not tried alone comes last there, so that neither ends before budget or operators do. Fallback starts from the best
// configuration without fallback.
#include <algorithm>
#include <cmath>

#include "quasar/sensitivity/blocks.hpp"
#include "quasar/sensitivity/unit_errors.hpp"
#include "quasar/strategy/fallback.hpp"
#include "quasar/trial/ranking.hpp"

namespace quasar::tune::strategies {
namespace {

class Basic final : public TuningStrategy {
 public:
  void traverse(Tuner& tuner) const override {
    Course course(tuner);
    course.options();
    course.fall_back();
  }

 protected:
  std::string name() const override { return "basic"; }

 private:
  class Course {
   public:
    explicit Course(Tuner& tuner) : tuner_(tuner), keys_(tuner.context().job.tuning) {
      for (const auto& recipe : tuned_recipes()) {
        const bool fixed = keys_.recipes.contains(recipe) || tuner.space().needed_recipes.contains(recipe);
        if (keys_.approach != Approach::weight_only && !fixed) open_recipes_.push_back(recipe);
      }
    }

    void options() {
      std::vector<std::string> steps;
      std::vector<TuneConfig> first;
      const auto add = [&](const std::string& step, const std::string& setting, const Json& value) {
        TuneConfig one{{}, {{setting, value}}};
        if (!first.empty() && !can_be_tried(one)) return;
        steps.push_back(step);
        first.push_back(std::move(one));
      };
      for (const auto& scheme : tuner_.space().schemes) add("weights only: " + scheme, "scheme", scheme);
      for (const auto& alpha : keys_.smooth_alphas) add("SmoothQuant alpha", "SmoothAlpha", alpha);
      tuner_.tell(steps);
      attempt(first);
      tuner_.tell("default configuration");
      attempt(std::vector{best_});
      if (!open_recipes_.empty()) {
        TuneConfig all = best_;
        for (const auto& recipe : open_recipes_) all.settings[recipe] = false;
        tuner_.tell("all recipes");
        if (can_be_tried(all)) tuner_.evaluate(all);
      }
      if (keys_.approach == Approach::weight_only) return;  // an operator has no other options
      const Json alpha = best_.settings.contains("SmoothAlpha") ? best_.settings["SmoothAlpha"] : Json();
      auto by_type = by_op_type(tuner_.space(), tuner_.left() / 3);
      for (TuneConfig& config : by_type) {
        if (!alpha.is_null()) config.settings["SmoothAlpha"] = alpha;
      }
      tuner_.tell("options by operator type");
      attempt(by_type);
      tuner_.tell("dynamic for what can");
      attempt(with_dynamic(best_, tuner_.space()));
      recipes_one_by_one();
    }

    void fall_back() {
      for (const auto& type : fallback_types(tuner_.space())) fall_back_to(type);
    }

   private:
    void recipes_one_by_one() {
      std::vector<std::string> steps;
      std::vector<TuneConfig> without;
      for (const auto& recipe : open_recipes_) {
        TuneConfig one = best_;
        one.settings[recipe] = false;
        if (!can_be_tried(one)) continue;
        steps.push_back("recipe " + recipe);
        without.push_back(std::move(one));
      }
      tuner_.tell(steps);
      tuner_.evaluate(without);
    }

    void fall_back_to(const std::string& type) {
      const auto words = [&](const char* what) { return what + (type == in_float ? std::string() : " to " + type); };
      const auto& model = tuner_.graph_for(best_);
      const std::vector<std::string> nodes = fallible_nodes(best_, tuner_.space(), type);
      auto blocks = at_most(blocks_of(model, {nodes.begin(), nodes.end()}), tuner_.left() / 3);
      std::reverse(blocks.begin(), blocks.end());  // from the outputs
      if (blocks.size() > 1 && blocks.size() < nodes.size()) {
        tuner_.tell(words("fallback by blocks"));
        accumulate(tuner_, best_, blocks, type);
      }
      tuner_.tell(words("fallback of single operators"));
      std::vector<std::string> chosen(nodes.rbegin(), nodes.rend()), rest;  // bottom up
      const size_t most = tuner_.left() / 2;
      if (chosen.size() > most) {
        rest = by_sensitivity(nodes);
        chosen.assign(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(most));
        rest.erase(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(most));
      }
      std::vector<TuneConfig> singles;
      std::vector<std::string> possible;  // of the chosen ones: without them something is quantized still, and another result
      std::map<std::string, double> lost;
      const std::string computed = tuner_.computed(best_);
      for (const auto& node : chosen) {
        TuneConfig without = with_float(best_, tuner_.space(), {node}, type);
        if (!can_be_tried(without)) continue;
        if (tuner_.computed(without) == computed) {
          lost[node] = tuner_.loss(*trial_);
          continue;
        }
        singles.push_back(std::move(without));
        possible.push_back(node);
      }
      const auto trials = tuner_.evaluate(singles);
      std::vector<std::pair<std::string, double>> gains;
      for (size_t i = 0; i < trials.size(); i++) lost[possible[i]] = tuner_.loss(trials[i]);
      for (const auto& node : chosen) gains.emplace_back(node, lost.contains(node) ? -lost.at(node) : -HUGE_VAL);
      tuner_.tell(words("accumulated fallback"));
      std::vector<std::vector<std::string>> groups;
      for (const auto& node : ranked(gains)) groups.push_back({node});
      if (groups.size() > 1) {  // the first alone has been tried
        groups[1].push_back(groups[0][0]);
        groups.erase(groups.begin());
      }
      for (const auto& node : rest) groups.push_back({node});
      accumulate(tuner_, best_, groups, type);
      leave_another(tuner_, best_, groups, type);
    }

    // Something is quantized still.
    bool can_be_tried(const TuneConfig& config) const { return tuner_.why_impossible(config).empty(); }

    // The best of these and of those before; the first of several as good.
    void attempt(std::vector<TuneConfig> configs) {
      if (trial_) std::erase_if(configs, [this](const TuneConfig& config) { return !can_be_tried(config); });
      const auto trials = tuner_.evaluate(configs);
      for (size_t i = 0; i < trials.size(); i++) {
        if (trial_ && !tuner_.better(trials[i], *trial_)) continue;
        trial_ = trials[i];
        best_ = configs[i];
      }
    }

    // The most sensitive first; what no error is known of comes last.
    std::vector<std::string> by_sensitivity(const std::vector<std::string>& nodes) const {
      std::map<std::string, double> errors;
      auto found = alone(tuner_.toggled(best_), *tuner_.samples(8));
      std::ranges::stable_sort(found, std::ranges::greater(), &UnitError::output_error);
      const bool compare = ranked_locally_if_need_be(found);
      tuner_.tell_sensitivity(sensitivities(found));
      for (const auto& error : found) errors[error.unit.node] = compare ? error.output_error : error.noise_to_signal;
      std::vector<std::pair<std::string, double>> costs;
      for (const auto& node : nodes) costs.emplace_back(node, errors.contains(node) ? errors.at(node) : -1);
      return ranked(costs);
    }

    Tuner& tuner_;
    const TuningKeys& keys_;
    std::vector<std::string> open_recipes_;
    TuneConfig best_;  // without fallback
    std::optional<search::Trial> trial_;
  };
};

}  // namespace

Entry<Strategy> basic() {
  return {
      .help = "Options by operator type and recipes, then fallback by blocks, single operators, and accumulated (quant_level 1).",
      .make = make_as<Basic, Strategy>,
      .aliases = {"O1"}};
}

}  // namespace quasar::tune::strategies
