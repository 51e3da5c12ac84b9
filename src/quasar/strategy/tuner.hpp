// What tuning strategies are written with: a configuration per operator in, an accuracy out, until the exit policy ends it.
//
// A strategy of one's own is a class with traverse(), which calls evaluate() as it likes; or with next(), which gives one
// configuration after another and looks at the history (Intel Neural Compressor's next_tune_cfg).
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "quasar/strategy/step_trials.hpp"
#include "quasar/strategy/tuned_models.hpp"
#include "quasar/strategy/tuner_notes.hpp"

namespace quasar::tune {

class Tuner : public TunedModels, public TunerNotes {
 public:
  // All of them outlive it.
  Tuner(const StrategyContext& context, const TuningSpace& space, const std::string& strategy)
      : TunedModels(context, space, strategy),
        TunerNotes(context, space, strategy),
        strategy_(strategy),
        trials_(context, strategy) {}

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

  // What the run amounts to so far, for a strategy that is broken off; `reason` in words.
  search::RunResult finished(const std::string& reason) const { return trials_.finished(reason); }

  struct Over {};
  // Runs a strategy's traverse to its end.
  Finding run(const std::function<void(Tuner&)>& traverse);
  // A sampler's way through the space instead, to the first success (timeout 0), the end of the budget or of the space. Where the
  // objective is a cost, what meets the goal at the least of it is chosen.
  Finding sample(const std::string& sampler);

 private:
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
  void note_finished(std::span<const search::Point> points);
  std::string traversed(const std::function<void(Tuner&)>& traverse);
  bool is_the_strategys(const std::exception& thrown) const;

  const std::string strategy_;
  StepTrials trials_;
  bool in_a_trial_ = false;  // an exception now is not the strategy's
};

// The base of the strategies that tune operators.
class TuningStrategy : public Strategy {
 public:
  Json default_space(const Job& job) const override;
  bool has_goal() const override { return true; }
  void check(const Job& job, const Spaces& spaces) const override;
  Json space_of(const Job& job, const Json& search_space, const graph::Model& model, const quant::Target& target) const override;
  std::vector<Json> also_needs(const Job& job, const graph::Model& model, const quant::Target& target) const override;
  bool learns_from_earlier() const override { return false; }
  bool tries_enqueued() const override { return false; }
  std::optional<int64_t> most_trials(const Limits& limits) const override;
  std::vector<std::string> idle(const Job& job, const graph::Model& model, const quant::Target& target) const override;
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

}  // namespace quasar::tune
