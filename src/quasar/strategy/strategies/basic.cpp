// The stages of Intel Neural Compressor's default: with approach weight_only its named configurations first; default
// configuration, all recipes, options by operator type, recipes one by one; then fallback by blocks (where there is attention),
// by single operators, and accumulated in the order of what each single one brought; of equal ones the more sensitive first.
//
// Unlike there, the stages share the budget: options take at most a third of the trials, and where there are more operators than
// half of the trials left, the single fallback takes the most sensitive ones, so that the accumulated stage is always reached;
// what was not tried alone comes last there, in groups where trials are few. Fallback starts from the best of options and
// recipes, and what it gave up in vain returns.
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
        tuner_.tell("all recipes");
        if (const TuneConfig all = with_all_recipes(best_); can_be_tried(all)) tuner_.evaluate(all);
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
      fall_back_with_return(
          tuner_, best_,
          [&] {
            for (const auto& type : fallback_types(tuner_.space())) fall_back_to(type);
          },
          [&] { return least_first(); });
    }

   private:
    TuneConfig with_all_recipes(TuneConfig config) const {
      for (const auto& recipe : open_recipes_) config.settings[recipe] = false;
      return config;
    }

    // On top of the best options, and all of them together, which is known already where the default options are the best.
    void recipes_one_by_one() {
      std::vector<std::string> steps;
      std::vector<TuneConfig> others;
      const auto add = [&](const std::string& step, TuneConfig config) {
        if (!can_be_tried(config)) return;
        steps.push_back(step);
        others.push_back(std::move(config));
      };
      for (const auto& recipe : open_recipes_) {
        TuneConfig one = best_;
        one.settings[recipe] = false;
        add("recipe " + recipe, std::move(one));
      }
      if (open_recipes_.size() > 1) add("all recipes", with_all_recipes(best_));
      tuner_.tell(steps);
      attempt(std::move(others));
    }

    void fall_back_to(const std::string& type) {
      const auto words = [&](const char* what) { return what + (type == in_float ? std::string() : " to " + type); };
      const auto& model = tuner_.graph_for(best_);
      const std::vector<std::string> nodes = fallible_nodes(best_, tuner_.space(), type);
      if (has_attention(model)) {
        auto blocks = at_most(blocks_of(model, {nodes.begin(), nodes.end()}), tuner_.left() / 3);
        std::reverse(blocks.begin(), blocks.end());  // from the outputs
        if (blocks.size() > 1 && blocks.size() < nodes.size()) {
          tuner_.tell(words("fallback by blocks"));
          accumulate(tuner_, best_, blocks, type);
        }
      }
      tuner_.tell(words("fallback of single operators"));
      std::vector<std::string> chosen = by_sensitivity(nodes), rest;
      if (const size_t most = tuner_.left() / 2; chosen.size() > most) {
        rest.assign(chosen.begin() + static_cast<ptrdiff_t>(most), chosen.end());
        chosen.resize(most);
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
      gains_.insert(gains.begin(), gains.end());
      tuner_.tell(words("accumulated fallback"));
      std::vector<std::vector<std::string>> groups;
      for (const auto& node : ranked(gains)) groups.push_back({node});
      if (groups.size() > 1) {  // the first alone has been tried
        groups[1].push_back(groups[0][0]);
        groups.erase(groups.begin());
      }
      for (const auto& node : rest) groups.push_back({node});
      accumulate(tuner_, best_, within(groups, tuner_.left()), type);
      // What lies between them, where some were the same model and cost nothing.
      if (!tuner_.met() && tuner_.left() > 0) accumulate(tuner_, best_, groups, type);
      leave_another(tuner_, best_, groups, type);
    }

    // The first ones alone, the rest in groups as even as can be, so that they make `most` trials: without the last one, after
    // which nothing is quantized, it stands behind them.
    static std::vector<std::vector<std::string>> within(std::vector<std::vector<std::string>> groups, size_t most) {
      if (groups.size() <= most + 1 || most == 0) return groups;
      auto last = std::move(groups.back());
      groups.pop_back();
      const size_t alone = most / 2, together = most - alone, rest = groups.size() - alone;
      std::vector<std::vector<std::string>> out(std::make_move_iterator(groups.begin()),
                                                std::make_move_iterator(groups.begin() + static_cast<ptrdiff_t>(alone)));
      for (size_t k = 0; k < together; k++) {
        auto& group = out.emplace_back();
        for (size_t i = rest * k / together; i < rest * (k + 1) / together; i++)
          std::ranges::move(groups[alone + i], std::back_inserter(group));
      }
      out.push_back(std::move(last));
      return out;
    }

    // Whose own fallback brought least, or is not known, first.
    std::vector<std::string> least_first() const {
      std::vector<std::string> nodes = fallible_nodes({}, tuner_.space());
      std::ranges::stable_sort(nodes, {}, [&](const auto& node) { return gains_.contains(node) ? gains_.at(node) : -HUGE_VAL; });
      return nodes;
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

    // The most sensitive first; what no error is known of comes last, and everything bottom up where none can be known.
    std::vector<std::string> by_sensitivity(const std::vector<std::string>& nodes) const {
      try {
        return by_known_sensitivity(nodes);
      } catch (const ToggledModelFailed&) {
        return {nodes.rbegin(), nodes.rend()};
      }
    }

    std::vector<std::string> by_known_sensitivity(const std::vector<std::string>& nodes) const {
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
    TuneConfig best_;  // of options and recipes
    std::optional<search::Trial> trial_;
    std::map<std::string, double> gains_;  // by node: what it brought alone
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
