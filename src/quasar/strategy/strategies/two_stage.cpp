// First how to calibrate, then how to round: the calibration and graph options as a grid, cheap ones first, then fine-tuning by
// the job's sampler with everything of the first stage's winner kept. Where the model may have several forms, the grid has the
// first of them, and its default configuration and its best one are tried in the others.
#include <algorithm>
#include <functional>
#include <span>

#include "quasar/quant/config/config.hpp"
#include "quasar/search/prior_trials.hpp"
#include "quasar/strategy/exit_policy.hpp"
#include "quasar/strategy/form_choice.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune::strategies {
namespace {

const char* const first_stage = "calibration";
const char* const second_stage = "fine-tuning";

// Tries the points that it is given first, and no others.
class Nothing final : public search::Sampler {
 public:
  std::optional<search::Point> next(const search::History&, Rng&) override { return std::nullopt; }
};

using End = search::RunResult::End;

class TwoStage final : public Strategy {
 public:
  bool in_stages() const override { return true; }
  bool races() const override { return true; }

  void check(const Job& job, const Spaces& spaces) const override {
    std::vector<search::Space> all = spaces.each;
    all.insert(all.end(), spaces.calibration.begin(), spaces.calibration.end());
    for (size_t i = 0; i < spaces.each.size(); ++i) {
      search::samplers::table().make("grid")->check(spaces.calibration[i]);
      enqueued(job.enqueue, spaces.calibration[i], all);
      if (!spaces.fine_tuning[i]) continue;
      const auto sampler = search::samplers::table().make(job.sampler.name, job.sampler.options);
      sampler->check(spaces.each[i]);
      search::check_objectives(*sampler, job.aim.goals.directions());
    }
  }

  Finding run(const StrategyContext& context) const override {
    Finding out{.result = both_stages(context)};
    choose_form(context, out);
    return out;
  }

 private:
  static search::RunResult both_stages(const StrategyContext& context) {
    search::RunResult first = calibrate(context);
    // Patience ends a stage, everything else the search.
    const bool patience = first.reason.starts_with("patience");
    if (first.end != End::exhausted && !patience) return first;
    const auto winner = winner_of(context);
    if (!winner && first.counts.complete > 0) return first;  // none that can be rounded
    if (!winner) return {first.end, "no configuration of the first stage worked", first.counts};
    search::RunResult second = fine_tune(context, *winner);
    second.counts = search::sum(first.counts, second.counts);
    if (second.end == End::condition) second.reason = in_both_stages(context, second.reason);
    return second;
  }

  // A limit that holds for both stages together is told as the user gave it, not as what the first stage has left of it.
  static std::string in_both_stages(const StrategyContext& context, const std::string& reason) {
    const Json whole = context.job.limits.stop, left = what_is_left(context);
    for (const std::string key : {"iteration_limit", "find_n_candidates"}) {
      const std::string own = key + " of " + left.value(key, Json()).dump();
      if (reason.starts_with(own)) return key + " of " + whole[key].dump() + reason.substr(own.size()) + " in both stages";
    }
    return "second stage: " + reason;
  }

  struct Winner {
    size_t space;
    search::Point point;
  };

  static search::RunResult calibrate(const StrategyContext& context) {
    const auto& spaces = context.spaces.calibration;
    search::RunResult result{End::exhausted, "", {}};
    for (size_t i = 0; i < spaces.size() && result.end == End::exhausted; ++i) {
      Stage stage{.name = first_stage, .sampler = "grid", .conditions = context.job.limits.stop};
      if (i == 0) stage.first.push_back(default_point(spaces[i]));
      std::vector<search::Space> all = spaces;
      all.insert(all.end(), context.spaces.each.begin(), context.spaces.each.end());
      for (auto& point : enqueued(context.job.enqueue, spaces[i], all)) stage.first.push_back(std::move(point));
      if (!context.spaces.other_forms[i].empty()) {
        result = try_points(context, spaces[i], stage.first, first_stage);
        if (is_short_of_time(context, i)) try_other_forms(context, i, default_point(spaces[i]), Rounded::no, result);
        try_other_forms(context, i, default_point(spaces[i]), Rounded::yes, result);
        if (result.end != End::exhausted) break;
      }
      result = run_stage(context, spaces[i], std::move(stage));
      const auto best = best_of(context, {&spaces[i], 1});
      if (best) try_other_forms(context, i, best->point, Rounded::yes, result);
      // Also where nothing worked: of LSTM only the form with ranges at run time has integer kernels.
      try_other_forms(context, i, best ? best->point : default_point(spaces[i]), Rounded::no, result);
    }
    return result;
  }

  // Whether there is no time for every point of the space and two of each other form, as the first trial's seconds foretell: then
  // no form can wait for the end.
  static bool is_short_of_time(const StrategyContext& context, size_t space) {
    const auto trials = context.study.trials();
    if (trials.empty()) return false;
    auto wanted = context.spaces.calibration[space].size();
    if (wanted) *wanted += 2 * context.spaces.other_forms[space].size();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - context.begin;
    return !have_time_for(context.job.limits, wanted, trials.front().seconds().value_or(0), passed.count());
  }

  enum class Rounded { no, yes };

  // The same configuration in the other forms. Those that nothing can be rounded in come last: beside them the others would be
  // given up before it is known what rounding makes of them. `result`: of the run so far, which may be over.
  static void try_other_forms(const StrategyContext& context, size_t space, const search::Point& point, Rounded rounded,
                              search::RunResult& result) {
    const search::Space& known = context.spaces.calibration[space];
    for (const search::Space& form : context.spaces.other_forms[space]) {
      if (result.end != End::exhausted) return;
      const search::Point same = form.nearest_to(known.decode(point));
      if (can_be_rounded(form, same) != (rounded == Rounded::yes) || !pays(context, known, form)) continue;
      result = try_points(context, form, {same}, first_stage);
    }
  }

  // A form that is slower than the first one must be better by a tenth in the configuration that both were tried in.
  static bool pays(const StrategyContext& context, const search::Space& first, const search::Space& form) {
    const search::Point usual = default_point(first), same = form.nearest_to(first.decode(usual));
    if (!is_slower(context.spaces, same)) return true;
    const auto value = value_at(context, usual), in_form = value_at(context, same);
    return !value || !in_form || outweighs(*in_form, *value, context.study.directions()[0]);
  }

  static std::optional<double> value_at(const StrategyContext& context, const search::Point& point) {
    for (const auto& trial : context.study.trials()) {
      if (trial.state == search::State::complete && !trial.values.empty() && trial.point == point) return trial.values[0];
    }
    return std::nullopt;
  }

  // These points and no others.
  static search::RunResult try_points(const StrategyContext& context, const search::Space& space,
                                      std::vector<search::Point> points, const char* stage) {
    const bool first = stage == first_stage;
    Nothing nothing;
    const search::RunOptions options{.seed = context.job.seed,
                                     .n_jobs = static_cast<size_t>(context.job.n_jobs),
                                     .first = std::move(points),
                                     .stage = stage,
                                     .listener = context.listener,
                                     .stop = context.stop,
                                     .begin = context.begin};
    Json words = first ? context.job.limits.stop : what_is_left(context);
    if (const auto wanted = trials_wanted(context.job.limits); wanted && !first) words["n_trials"] = *wanted;
    const auto conditions = search::stop_conditions(words);
    return search::run(options, context.study, space, nothing, conditions, context.objective);
  }

  // The best of the first stage in these spaces that can be rounded, whichever run of the program found it.
  static std::optional<Winner> best_of(
      const StrategyContext& context, std::span<const search::Space> spaces,
      const std::function<bool(const search::Trial&)>& may_win = [](const search::Trial&) { return true; }) {
    std::optional<Winner> out;
    double value = 0, violation = 0;
    for (const auto& trial : context.study.trials()) {
      const bool mine = trial.user_attributes.value(search::attribute::stage, std::string()) == first_stage;
      if (!mine || trial.state != search::State::complete || trial.values.empty() || !may_win(trial)) continue;
      const bool as_far = trial.violation() == violation;
      if (out &&
          !(as_far ? search::better(trial.values[0], value, context.study.directions()[0]) : trial.violation() < violation))
        continue;
      const auto space = std::ranges::find_if(spaces, [&](const search::Space& one) { return fits(one, trial.point); });
      if (space == spaces.end() || !can_be_rounded(*space, trial.point)) continue;
      out = Winner{static_cast<size_t>(space - spaces.begin()), trial.point};
      value = trial.values[0];
      violation = trial.violation();
    }
    return out;
  }

  static bool fits(const search::Space& space, const search::Point& point) {
    try {
      space.check(point);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  // Rounding needs the scales of the inputs.
  static bool can_be_rounded(const search::Space& space, const search::Point& point) {
    return !quant::parse_config(words_of(space, point)).activation.dynamic;
  }

  // Of all spaces and forms, but for those that only stand in where the winner is poor: what is rounded must be what can win, and
  // gives way to a faster form as the winner does. Where nothing else worked, these too.
  static std::optional<Winner> winner_of(const StrategyContext& context) {
    const auto found =
        winner_of(context, [&](const search::Space& form) { return !is_lesser(context.spaces, default_point(form)); });
    return found ? found : winner_of(context, [](const search::Space&) { return true; });
  }

  static std::optional<Winner> winner_of(const StrategyContext& context,
                                         const std::function<bool(const search::Space&)>& may_win) {
    std::vector<search::Space> spaces = context.spaces.calibration;
    std::vector<size_t> origins;
    for (size_t i = 0; i < context.spaces.calibration.size(); ++i) origins.push_back(i);
    for (size_t i = 0; i < context.spaces.calibration.size(); ++i) {
      for (const search::Space& form : context.spaces.other_forms[i]) {
        if (!may_win(form) || !pays(context, context.spaces.calibration[i], form)) continue;
        spaces.push_back(form);
        origins.push_back(i);
      }
    }
    auto found = best_of(context, spaces);
    while (found) {
      const auto faster = best_of(context, spaces, [&](const search::Trial& trial) {
        return is_good(context, trial) && gains(context.spaces, trial.point, found->point);
      });
      if (!faster) break;
      found = faster;
    }
    if (found) found->space = origins[found->space];
    return found;
  }

  // The winner's options held, the fine-tuning of one of the spaces free.
  static search::Space around(const StrategyContext& context, const Winner& winner, size_t fine_tuning) {
    Json words = quant::without_rounding(context.job.spaces[winner.space]);
    const Json& other = context.job.spaces[fine_tuning];
    const Json rest = quant::without_rounding(other);
    for (const auto& [key, value] : other.items()) {
      if (!rest.contains(key)) words[key] = value;
    }
    search::Space space = search::Space::parse(words);
    for (const auto& [name, value] : context.spaces.held) space.hold(name, value);
    return space.recorded_as(context.spaces.all).pinned(winner.point);
  }

  // The default point, and the same with every other algorithm: none is judged by a draw that did not come.
  static std::vector<search::Point> each_algorithm(const search::Space& space) {
    std::vector<search::Point> out{default_point(space)};
    const search::Parameter* algorithms = space.find("algorithms");
    const auto* choices = algorithms == nullptr ? nullptr : std::get_if<search::Categorical>(algorithms->distribution.get());
    if (choices == nullptr) return out;
    for (const Json& algorithm : choices->choices) {
      Json words = space.decode(out[0]);
      words["algorithms"] = algorithm;
      search::Point point = space.nearest_to(words);
      if (!algorithm.is_null() && space.has(point) && std::ranges::find(out, point) == out.end()) out.push_back(std::move(point));
    }
    return out;
  }

  static search::RunResult fine_tune(const StrategyContext& context, const Winner& winner) {
    const auto left = std::ranges::count(context.spaces.fine_tuning, true);
    search::RunResult result{End::exhausted, "", {}};
    for (size_t i = 0, done = 0; i < context.spaces.each.size(); ++i) {
      if (!context.spaces.fine_tuning[i]) continue;
      const search::Space space = around(context, winner, i);
      Stage stage{.name = second_stage, .sampler = context.job.sampler.name, .sampler_options = context.job.sampler.options};
      stage.conditions = what_is_left(context);
      const TrialLimit wanted = trial_limit(context.job.limits);
      int64_t share = 0;
      if (wanted.most) {
        const auto so_far = wanted.used(counts_of(context.study, second_stage));
        const auto spaces = static_cast<int64_t>(left) - static_cast<int64_t>(done);
        share = so_far + (std::max<int64_t>(0, *wanted.most - so_far) + spaces - 1) / spaces;
        limit(stage, wanted, share);
      }
      stage.first = each_algorithm(space);
      try_enqueued(context, i);
      result = run_stage(context, space, std::move(stage));
      ++done;
      const bool shared_out = wanted.most && wanted.used(result.counts) >= share;
      if (result.end != End::exhausted && !(result.end == End::condition && shared_out)) break;
    }
    return result;
  }

  // Configurations with a fine-tuning of their own need not share the winner's calibration. Those without were the first stage's.
  static void try_enqueued(const StrategyContext& context, size_t i) {
    std::vector<search::Space> all = context.spaces.each;
    all.insert(all.end(), context.spaces.calibration.begin(), context.spaces.calibration.end());
    Job tuned = context.job;
    std::erase_if(tuned.enqueue,
                  [&](const Json& configuration) { return quant::without_rounding(configuration) == configuration; });
    auto points = enqueued(tuned.enqueue, context.spaces.each[i], all);
    // The best of earlier studies too.
    const auto known = search::fitting(context.earlier, context.spaces.each[i]);
    for (auto& point : search::best_points(known, context.study.directions().front())) points.push_back(std::move(point));
    if (!points.empty()) try_points(context, context.spaces.each[i], std::move(points), second_stage);
  }

  // Limits on numbers of trials and candidates hold for both stages together.
  static Json what_is_left(const StrategyContext& context) {
    Json words = context.job.limits.stop;
    const auto spend = [&](const char* key, size_t spent, int64_t least) {
      if (!words.contains(key) || !words[key].is_number() || words[key].get<double>() < 0) return;
      words[key] = std::max<int64_t>(least, words[key].get<int64_t>() - static_cast<int64_t>(spent));
    };
    spend("iteration_limit", counts_of(context.study, first_stage).executed(), 0);
    const auto is_mine = [](const search::Trial& trial) {
      return trial.is_candidate() && !trial.is_duplicate() &&
             trial.user_attributes.value(search::attribute::stage, std::string()) == first_stage;
    };
    spend("find_n_candidates", static_cast<size_t>(std::ranges::count_if(context.study.trials(), is_mine)), 1);
    return words;
  }
};

}  // namespace

Entry<Strategy> two_stage() {
  return {"Calibration and graph options as a grid, then fine-tuning of its winner by search_algo with n_trials.",
          make_as<TwoStage, Strategy>};
}

}  // namespace quasar::tune::strategies
