// First how to calibrate, then how to round: the calibration and graph options as a grid, cheap ones first, then fine-tuning by
// the job's sampler with everything of the first stage's winner kept.
#include <algorithm>

#include "quasar/quant/config/rounding_config.hpp"
#include "quasar/search/prior_trials.hpp"
#include "quasar/strategy/exit_policy.hpp"
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
      enqueued(job, spaces.calibration[i], all);
      if (!spaces.fine_tuning[i]) continue;
      const auto sampler = search::samplers::table().make(job.sampler.name, job.sampler.options);
      sampler->check(spaces.each[i]);
      search::check_objectives(*sampler, job.aim.goals.directions());
    }
    condition_words(job);
  }

  Finding run(const StrategyContext& context) const override {
    search::RunResult first = calibrate(context);
    // Patience ends a stage, everything else the search.
    const bool patience = first.reason.starts_with("patience");
    if (first.end != End::exhausted && !patience) return {first};
    const auto winner = winner_of(context);
    if (!winner) return {{first.end, "no configuration of the first stage worked", first.counts}};
    search::RunResult second = fine_tune(context, *winner);
    second.counts = search::sum(first.counts, second.counts);
    if (second.end == End::condition) second.reason = "second stage: " + second.reason;
    return {second};
  }

 private:
  struct Winner {
    size_t space;
    search::Point point;
  };

  static search::RunResult calibrate(const StrategyContext& context) {
    const auto& spaces = context.spaces.calibration;
    search::RunResult result{End::exhausted, "", {}};
    for (size_t i = 0; i < spaces.size() && result.end == End::exhausted; ++i) {
      Stage stage{.name = first_stage, .sampler = "grid", .conditions = condition_words(context.job)};
      if (i == 0) stage.first.push_back(default_point(spaces[i]));
      std::vector<search::Space> all = spaces;
      all.insert(all.end(), context.spaces.each.begin(), context.spaces.each.end());
      for (auto& point : enqueued(context.job, spaces[i], all)) stage.first.push_back(std::move(point));
      result = run_stage(context, spaces[i], std::move(stage));
    }
    return result;
  }

  // The best of the first stage, whichever run of the program found it.
  static std::optional<Winner> winner_of(const StrategyContext& context) {
    const search::Trial* best = nullptr;
    for (const auto& trial : context.study.trials()) {
      const bool mine = trial.user_attributes.value(search::attribute::stage, std::string()) == first_stage;
      if (!mine || trial.state != search::State::complete || trial.values.empty()) continue;
      if (!best || search::better(trial.values[0], best->values[0], context.study.directions()[0])) best = &trial;
    }
    for (size_t i = 0; best != nullptr && i < context.spaces.calibration.size(); ++i) {
      try {
        context.spaces.calibration[i].check(best->point);
        return Winner{i, best->point};
      } catch (const Error&) {  // of another space
      }
    }
    return std::nullopt;
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

  static search::RunResult fine_tune(const StrategyContext& context, const Winner& winner) {
    const auto left = std::ranges::count(context.spaces.fine_tuning, true);
    search::RunResult result{End::exhausted, "", {}};
    for (size_t i = 0, done = 0; i < context.spaces.each.size(); ++i) {
      if (!context.spaces.fine_tuning[i]) continue;
      const search::Space space = around(context, winner, i);
      Stage stage{.name = second_stage, .sampler = context.job.sampler.name, .sampler_options = context.job.sampler.options};
      stage.conditions = what_is_left(context);
      const TrialLimit wanted = trial_limit(context.job);
      int64_t share = 0;
      if (wanted.most) {
        const auto so_far = wanted.used(counts_of(context.study, second_stage));
        const auto spaces = static_cast<int64_t>(left) - static_cast<int64_t>(done);
        share = so_far + (std::max<int64_t>(0, *wanted.most - so_far) + spaces - 1) / spaces;
        limit(stage, wanted, share);
      }
      stage.first.push_back(default_point(space));
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
    auto points = enqueued(tuned, context.spaces.each[i], all);
    // The best of earlier studies too.
    const auto known = search::fitting(context.earlier, context.spaces.each[i]);
    for (auto& point : search::best_points(known, context.study.directions().front())) points.push_back(std::move(point));
    if (points.empty()) return;
    Nothing nothing;
    const search::RunOptions options{.seed = context.job.seed,
                                     .n_jobs = static_cast<size_t>(context.job.n_jobs),
                                     .first = points,
                                     .stage = second_stage,
                                     .listener = context.listener,
                                     .stop = context.stop,
                                     .begin = context.begin};
    Json words = what_is_left(context);
    if (const auto wanted = trials_wanted(context.job)) words["n_trials"] = *wanted;
    const auto conditions = search::stop_conditions(words);
    search::run(options, context.study, context.spaces.each[i], nothing, conditions, context.objective);
  }

  // Limits on numbers of trials and candidates hold for both stages together.
  static Json what_is_left(const StrategyContext& context) {
    Json words = condition_words(context.job);
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
