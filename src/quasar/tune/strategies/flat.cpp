#include "quasar/tune/strategy.hpp"

namespace quasar::tune::strategies {
namespace {

class Flat final : public Strategy {
 public:
  bool races() const override { return true; }

  void check(const Job& job, const search::Space& space) const override {
    const auto sampler = search::samplers::table().make(job.search_algo);
    sampler->check(space);
    search::check_objectives(*sampler, job.goals.directions());
    conditions_of(job);
    first_points(job, space);
  }

  Finding run(const Workbench& bench) const override {
    const auto sampler = search::samplers::table().make(bench.job.search_algo);
    const search::RunOptions options{.seed = bench.job.seed,
                                     .n_jobs = static_cast<size_t>(bench.job.n_jobs),
                                     .first = first_points(bench.job, bench.space),
                                     .stage = "flat",
                                     .listener = bench.listener,
                                     .stop = bench.stop,
                                     .begin = bench.begin};
    return {search::run(options, bench.study, bench.space, *sampler, conditions_of(bench.job), bench.objective)};
  }
};

}  // namespace

Entry<Strategy> flat() {
  return {"One sampler over the whole space.", make_as<Flat, Strategy>};
}

}  // namespace quasar::tune::strategies
