// Strategies: who decides which configurations are tried next. One file each in strategies/.
#pragma once

#include "quasar/base/plugin.hpp"
#include "quasar/job/job.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/job/strategy_facts.hpp"
#include "quasar/search/run.hpp"
#include "quasar/search/sequence.hpp"
#include "quasar/strategy/story.hpp"
#include "quasar/trial/trial.hpp"

namespace quasar::tune {

// What a strategy works with; all of it outlives the run.
struct StrategyContext {
  const TrialContext* trial_context = nullptr;  // what the objective tries its points with; tests may do without
  const Job& job;
  const Spaces& spaces;
  const search::Space& space;  // the first of them, for strategies that search one
  search::Study& study;
  search::Objective objective;
  search::Listener listener = {};
  std::stop_token stop = {};
  data::DatasetPtr samples = nullptr;                                              // the calibration samples
  std::span<const search::Trial> earlier = {};                                     // of the study that warm_start names
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();  // time limits count from here
  Log log = {};
};

// What is known before the study begins.
struct Beginning {
  const Job& job;
  const search::Space& space;  // the first one
  const graph::Model& model;
  const quant::Target& target;
  Variants& variants;
  double float_bytes = 0, float_ms = 0;
};

// How a strategy ended.
struct Finding {
  search::RunResult result = {search::RunResult::End::exhausted, "", {}};
  std::optional<int64_t> winner = {};      // number of the trial that it chose; nullopt: the one with the best value
  std::optional<int64_t> in_need = {};     // number of the trial that takes its place where the winner turns out to be poor
  std::optional<int64_t> nearer = {};      // the same of a slower one, where the winner gives fewer of float's answers than that
  std::optional<Story> story = {};         // how it came there
  std::vector<std::string> warnings = {};  // what the user should know of it
  bool failed = false;                     // an exception ended it, which result.reason names
};

class Strategy : public StrategyFacts {
 public:
  Json default_space(const Job& job) const override;
  // A search space of the job with what the strategy varies besides.
  virtual Json space_of(const Job& job, const Json& search_space, const graph::Model& model, const quant::Target& target) const;
  // What of each operator is a parameter besides those of the job's own space, in a word; "": nothing. Two strategies with the
  // same answer make the same space of the same job.
  virtual std::string operator_parameters() const { return ""; }
  // Whether its winner is the trial with the best value of the objective, so that the pruner may give up what cannot have it.
  virtual bool races() const { return false; }
  // Whether it finds the fewest operators that must stay in float for a goal: what a poor result of another one asks for.
  virtual bool repairs() const { return false; }
  // Whether the search goes on with such a strategy by itself when its own result is poor.
  virtual bool is_rescued() const { return false; }
  // Trials that it runs at most, its space aside; nullopt: no number bounds them.
  virtual std::optional<int64_t> most_trials(const Limits& limits) const;
  // Throws Error for a job that it cannot run; called before anything is written.
  virtual void check(const Job& job, const Spaces& spaces) const = 0;
  // Configurations whose statistics the points of space_of() need besides those of the job's own space.
  virtual std::vector<Json> also_needs(const Job& job, const graph::Model& model, const quant::Target& target) const;
  // What of the job has no effect on this model, in words: known before anything runs.
  virtual std::vector<std::string> idle(const Job& job, const graph::Model& model, const quant::Target& target) const;
  // Throws Error for a goal that no model of the space can reach; called once all that is observed is known, and before the study
  // begins.
  virtual void expect_possible(const Beginning& begin) const;
  // What it would do, besides what a dry run says of all strategies: {key: …}; null: nothing.
  virtual Json outlook(const Job& job, const search::Space& space, const graph::Model& model, const quant::Target& target) const;
  virtual Finding run(const StrategyContext& context) const = 0;
};

// The end of a strategy out of which an exception came when some trials had finished; adds a warning.
void tell_exception(Finding& finding, const std::string& strategy, const std::string& what, search::RunResult result);

// Runs the work of a strategy, which returns why it ended. Others ends are told too: those of its sequence, a time limit or the
// user who cut it short, and operators that cannot be measured one by one, which are a warning.
search::RunResult run_to_its_end(const StrategyContext& context, const search::Sequence& sequence,
                                 std::vector<std::string>& warnings, const std::function<std::string()>& work);

// n_trials and max_trials as given, the smaller one; else `default_trials`, or nullopt (the whole space) where the sampler
// enumerates it.
std::optional<int64_t> trials_wanted(const Limits& limits, int64_t default_trials = 20);

// The same, and which kind of trials it counts.
struct TrialLimit {
  std::optional<int64_t> most;
  bool models = false;  // it is max_trials: duplicates do not count
  int64_t used(const search::Counts& counts) const;
};
TrialLimit trial_limit(const Limits& limits);

// The job's stop conditions, with n_trials or max_trials (exit_policy.hpp), or as many trials as trials_wanted() says.
search::StopConditions conditions_of(const Limits& limits, int64_t default_trials = 20);

// Seconds after which the conditions end everything; nullopt: never.
std::optional<double> time_limit_of(const search::StopConditions& conditions);

// Whether so many trials (nullopt: without an end) of so many seconds end before the time limit, of which some has passed.
bool have_time_for(const Limits& limits, std::optional<uint64_t> trials, double seconds, double passed);

// The default configuration of a space: the first choices, or the first combination in product order that is
// possible; of a large space where that is far off, the first choices but one.
search::Point default_point(const search::Space& space);

// The enqueued configurations that lie in the space. Throws Error for one that lies in none of `spaces`.
std::vector<search::Point> enqueued(const std::vector<Json>& configurations, const search::Space& space,
                                    const std::vector<search::Space>& spaces);

// The points tried before anything else: the default configuration (trial 0), then the enqueued ones.
std::vector<search::Point> first_points(const std::vector<Json>& configurations, const search::Space& space);

// One run() of a strategy: everything that all strategies do alike.
struct Stage {
  std::string name;
  std::string sampler;
  Json sampler_options = Json::object();
  std::vector<search::Point> first = {};
  Json conditions = Json::object();        // as search::stop_conditions takes them; a time limit counts from the context's begin
  std::optional<int64_t> max_trials = {};  // that are no duplicates
};
void limit(Stage& stage, const TrialLimit& kind, int64_t most);
search::RunResult run_stage(const StrategyContext& context, const search::Space& space, Stage stage);

// Trials of the study that belong to a stage.
search::Counts counts_of(const search::Study& study, const std::string& stage);

}  // namespace quasar::tune

namespace quasar::tune::strategies {
const Table<Strategy>& table();
}
