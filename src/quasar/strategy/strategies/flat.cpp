#include "quasar/strategy/exit_policy.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune::strategies {
namespace {

const char* const stage = "flat";

class Flat final : public Strategy {
 public:
  bool races() const override { return true; }

  void check(const Job& job, const Spaces& spaces) const override {
    for (const auto& space : spaces.each) {
      const auto sampler = search::samplers::table().make(job.sampler.name, job.sampler.options);
      sampler->check(space);
      search::check_objectives(*sampler, job.aim.goals.directions());
      enqueued(job.enqueue, space, spaces.each);
    }
  }

  // The spaces in their order; n_trials (or max_trials) is the total, shared between those that are left.
  Finding run(const StrategyContext& context) const override {
    const auto& spaces = context.spaces.each;
    const TrialLimit wanted = trial_limit(context.job.limits);
    search::RunResult result{search::RunResult::End::exhausted, "", {}};
    for (size_t i = 0; i < spaces.size(); ++i) {
      Stage run{.name = stage, .sampler = context.job.sampler.name, .sampler_options = context.job.sampler.options};
      run.conditions = context.job.limits.stop;
      int64_t share = 0;
      if (wanted.most) {
        const auto done = wanted.used(counts_of(context.study, stage));
        const auto left = static_cast<int64_t>(spaces.size() - i);
        share = done + (std::max<int64_t>(0, *wanted.most - done) + left - 1) / left;
        limit(run, wanted, share);
      }
      if (i == 0) run.first.push_back(default_point(spaces[i]));
      for (auto& point : enqueued(context.job.enqueue, spaces[i], spaces)) run.first.push_back(std::move(point));
      result = run_stage(context, spaces[i], std::move(run));
      const bool shared_out = wanted.most && wanted.used(result.counts) >= share;
      if (result.end != search::RunResult::End::exhausted && !(result.end == search::RunResult::End::condition && shared_out))
        break;
    }
    return {result};
  }
};

}  // namespace

Entry<Strategy> flat() {
  return {"One sampler over the whole space; several spaces in their order.", make_as<Flat, Strategy>};
}

}  // namespace quasar::tune::strategies
