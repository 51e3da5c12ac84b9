// What tuning strategies are written with: a configuration per operator in, an accuracy out, until the exit policy ends it.
//
// A strategy of one's own is a class with traverse(), which calls evaluate() as it likes; or with next(), which gives one
// configuration after another and looks at the history (Intel Neural Compressor's next_tune_cfg).
#pragma once

#include <optional>
#include <set>
#include <span>

#include "quasar/sensitivity/toggled_model.hpp"
#include "quasar/strategy/float_gain.hpp"
#include "quasar/strategy/left_in_float.hpp"
#include "quasar/strategy/step_trials.hpp"
#include "quasar/strategy/strategy.hpp"
#include "quasar/strategy/tuning_space.hpp"

namespace quasar::tune {

// Differences to the default configuration.
struct TuneConfig {
  std::map<std::string, Json> nodes;          // by name: one of the node's options, or one of its float types
  std::map<std::string, Json> settings = {};  // other parameters of the space: recipes, SmoothAlpha …

  std::vector<std::string> in_float() const;
};

class Tuner {
 public:
  Tuner(const StrategyContext& context, const TuningSpace& space, const std::string& stage);

  const TuningSpace& space() const { return space_; }
  const StrategyContext& context() const { return context_; }

  // The finished trial of this configuration. Throws Over when the goal is met and timeout is 0, when trials or time are used
  // up, or when the user stops the search. A repeated configuration costs nothing, nor does one that quantizes nothing: what
  // comes back for it is no trial of the study, but one that failed, with the error and a number below 0. Throws Error for an
  // operator, an option or a setting that the space does not have.
  search::Trial evaluate(const TuneConfig& config);
  // Configurations that do not depend on each other, n_jobs at a time, and shared out among workers. Where timeout is 0, the
  // first success in their order ends it, as if they were tried one by one; what was running besides it then counts for nothing.
  std::vector<search::Trial> evaluate(std::span<const TuneConfig> configs);
  // How many of these are best made at a time: many enough for all workers, few enough for memory.
  size_t at_once() const;

  // The same, without ending at the first success: for strategies whose success is to give up less.
  std::vector<search::Trial> explore(std::span<const TuneConfig> configs);
  search::Trial explore(const TuneConfig& config);

  // What the trial loses, as the criterion counts it (loss_of); infinite for one that failed.
  double loss(const search::Trial& trial) const;
  // Why a trial is no candidate, in words: "loss 0.0014 > 0.0012".
  std::string why_missed(const search::Trial& trial) const;
  // a loses less than b.
  bool better(const search::Trial& a, const search::Trial& b) const { return loss(a) < loss(b); }

  // The best so far, and whether the goal is met by some trial.
  const std::optional<search::Trial>& best() const { return best_; }
  bool met() const { return met_.has_value(); }
  // Whether the goal is met by a model of which hardly anything is quantized.
  bool met_in_float() const;
  // Trials that may still be started after those on the way so far.
  size_t left() const;

  void tell(const std::string& step);         // names what follows, for the report
  void tell(std::vector<std::string> steps);  // the same for each of the next configurations
  // What operators were ranked by, the most sensitive first: [{node, op_type, …}], for the report.
  void tell_sensitivity(Json list) { sensitivity_ = std::move(list); }
  // Why operators stay in a float type that the strategy tried to take them out of, and what the loss would grow by.
  struct Refused {
    std::string why;
    std::optional<double> gained = {};
  };
  void tell_refused(const std::vector<std::string>& nodes, const Refused& refused);
  // What follows is another strategy, of which refusals and successes so far say nothing: it ends at one that gives up less.
  void begin_part() {
    part_++;
    met_before_ = met_ ? std::optional(met_->number) : std::nullopt;
  }
  // What the user should know, once; "": nothing.
  void warn(const std::string& warning);

  // What the run amounts to so far, for a strategy that is broken off; `reason` in words.
  search::RunResult finished(const std::string& reason) const { return trials_.finished(reason); }

  // A model with this configuration in which operators can be switched; samples to run it on.
  ToggledModel toggled(const TuneConfig& config) const;
  quant::Plan plan_for(const TuneConfig& config) const;  // with its rounding
  // Equal for two configurations that differ in kernels only (quant/same_values.hpp), or in nothing; where costs decide or are
  // bounded, kernels count. Throws Error where why_impossible() speaks against one.
  std::string computed(const TuneConfig& config) const;
  // Why a trial of this configuration would fail before anything is built; "": nothing speaks against it.
  std::string why_impossible(const TuneConfig& config) const;
  const graph::Model& graph_for(const TuneConfig& config) const;
  data::DatasetPtr samples(size_t most) const;

  struct Over {};
  // Runs a strategy's traverse to its end.
  Finding run(const std::function<void(Tuner&)>& traverse);
  // A sampler's way through the space instead, to the first success (timeout 0), the end of the budget or of the space. Where the
  // objective is a cost, what meets the goal at the least of it is chosen.
  Finding sample(const std::string& sampler);

 private:
  search::Point point_of(const TuneConfig& config) const;
  void check(const std::string& parameter, const Json& choice) const;
  quant::Config config_of(const TuneConfig& config) const;
  std::vector<search::Trial> tried(std::span<const TuneConfig> configs, bool to_success);
  // What `work` returns, which runs trials of these points.
  template <class Work>
  auto in_trials(std::span<const search::Point> points, Work work) {
    in_a_trial_ = true;
    try {
      auto out = work();
      in_a_trial_ = false;
      return out;
    } catch (const search::SequenceOver&) {
      note_finished(points);
      throw;
    }
  }
  void begin_step();  // of those that tell() has named
  void note(const search::Trial& trial);
  void note_finished(std::span<const search::Point> points);
  bool preferred(const search::Trial& a, const search::Trial& b) const;
  void conclude(Finding& finding) const;
  const search::Trial* result() const;  // nullptr: nothing was scored
  std::string shortfall() const;
  Json left_over() const;
  Json left(const std::string& node, const search::Trial& trial, const std::string& step) const;
  bool is_the_strategys(const std::exception& thrown) const;

  const StrategyContext& context_;
  const TuningSpace& space_;
  LeftInFloat left_in_float_;
  StepTrials trials_;
  Measures baseline_;
  std::optional<search::Trial> best_, met_;  // met: with the least given up
  std::optional<int64_t> met_before_;        // number of the trial that had met it before this part
  std::optional<search::Trial> accurate_;    // nearest to the constraints among those that meet the criterion
  std::set<int64_t> passed_;                 // trials on the way so far, and what became of them
  search::Counts used_;
  std::string stage_, step_;
  std::vector<std::string> steps_to_come_;  // of the next trials
  Json steps_ = Json::array(), sensitivity_ = nullptr;
  std::vector<std::string> warnings_;
  std::optional<Json> round_;  // the sampling size of the traverse that is under way, of several
  size_t part_ = 0;
  std::map<int64_t, size_t> part_of_;                         // by trial
  std::map<size_t, std::map<std::string, Refused>> refused_;  // by part and node
  std::vector<Passed> way_;                                   // trials with a loss, each once
  bool in_a_trial_ = false;                                   // an exception now is not the strategy's
  bool by_objective_;                                         // a cost decides which of those that meet the goal is chosen
  mutable size_t instrumented_ = 0;                           // models made by toggled()
};

// The base of the strategies that tune operators.
class TuningStrategy : public Strategy {
 public:
  Json default_space(const Job& job) const override;
  void check(const Job& job, const Spaces& spaces) const override;
  Json space_of(const Job& job, const Json& search_space, const graph::Model& model, const quant::Target& target) const override;
  std::vector<Json> also_needs(const Job& job, const graph::Model& model, const quant::Target& target) const override;
  bool learns_from_earlier() const override { return false; }
  std::optional<int64_t> most_trials(const Job& job) const override;
  Finding run(const StrategyContext& context) const override;

  virtual void traverse(Tuner& tuner) const = 0;  // Tuner's exceptions pass

 protected:
  virtual std::string name() const = 0;
  virtual bool falls_back() const { return true; }  // false: options only
  std::string operator_parameters() const override { return falls_back() ? "options and float types" : "options"; }
};

// One configuration after another, in the light of the trials so far; nullopt: the space is exhausted.
class NextStrategy : public TuningStrategy {
 protected:
  virtual std::optional<TuneConfig> next(const Tuner& tuner, std::span<const search::Trial> history) const = 0;

 public:
  void traverse(Tuner& tuner) const final;
};

// A strategy that leaves the choice to a sampler of search/samplers.
class SampledStrategy : public TuningStrategy {
 public:
  Finding run(const StrategyContext& context) const override;
  bool learns_from_earlier() const override { return true; }
  void traverse(Tuner&) const final {}

 protected:
  virtual std::string sampler() const = 0;
};

// How a strategy ends that was cut short by Cancelled: by the time limit of these conditions, or by the user.
search::RunResult cut_short(const StrategyContext& context, const search::Sequence& sequence,
                            const search::StopConditions& conditions);

// How a strategy ends that cannot measure operators one by one, or whose loss fails: adds a warning. -> the reason
std::string told_failure(std::vector<std::string>& warnings, const Error& failed);

}  // namespace quasar::tune
