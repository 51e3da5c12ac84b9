// Strategies: who decides which configurations are tried next. One file each in strategies/.
#pragma once

#include "quasar/base/plugin.hpp"
#include "quasar/search/run.hpp"
#include "quasar/tune/job.hpp"
#include "quasar/tune/trial.hpp"

namespace quasar::tune {

// What a strategy works with; all of it outlives the run.
struct Workbench {
  const Laboratory& lab;
  const Job& job;
  const search::Space& space;
  search::Study& study;
  search::Objective objective;
  search::Listener listener;
  std::stop_token stop;
  data::DatasetPtr samples;  // the calibration samples
};

// How a strategy ended.
struct Finding : search::RunResult {
  std::optional<int64_t> winner = {};  // number of the trial that it chose; nullopt: the one with the best value
  Json story = nullptr;                // how it came there, for the report
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // What it searches when the user gives no space; null: a space is required.
  virtual Json default_space(const std::string& target) const;
  // Metrics that it needs besides the user's.
  virtual std::vector<std::string> metrics() const { return {}; }
  // The job's search space with what the strategy varies besides.
  virtual Json space_of(const Job& job, const graph::Model& model, const quant::Target& target) const;
  // Throws Error for a job that it cannot run; called before anything is written.
  virtual void check(const Job& job, const search::Space& space) const = 0;
  // Configurations whose statistics the points of space_of() need besides those of the job's own space.
  virtual std::vector<Json> also_needs(const Job& job, const graph::Model& model, const quant::Target& target) const;
  virtual Finding run(const Workbench& bench) const = 0;
};

// The job's stop conditions, n_trials among them (0: `default_trials`, or the whole space where the sampler enumerates it).
search::StopConditions conditions_of(const Job& job, int64_t default_trials = 20);

// The points tried before the sampler is asked: the default configuration (trial 0), then the enqueued ones.
std::vector<search::Point> first_points(const Job& job, const search::Space& space);

}  // namespace quasar::tune

namespace quasar::tune::strategies {
const Table<Strategy>& table();
}
