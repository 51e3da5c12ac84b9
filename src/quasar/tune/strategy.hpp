// Strategies: who decides which configurations are tried next. One file each in strategies/.
#pragma once

#include "quasar/base/plugin.hpp"
#include "quasar/search/run.hpp"
#include "quasar/tune/job.hpp"

namespace quasar::tune {

// What a strategy works with; all of it outlives the run.
struct Workbench {
  const Job& job;
  const search::Space& space;
  search::Study& study;
  search::Objective objective;
  search::Listener listener;
  std::stop_token stop;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Throws Error for a job that it cannot run; called before anything is written.
  virtual void check(const Job& job, const search::Space& space) const = 0;
  virtual search::RunResult run(const Workbench& bench) const = 0;
};

// The job's stop conditions, n_trials among them (0: 20, or the whole space where the sampler enumerates it).
search::StopConditions conditions_of(const Job& job);

// The points tried before the sampler is asked: the default configuration (trial 0), then the enqueued ones.
std::vector<search::Point> first_points(const Job& job, const search::Space& space);

}  // namespace quasar::tune

namespace quasar::tune::strategies {
const Table<Strategy>& table();
}
