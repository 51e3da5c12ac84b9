// What a tuner has found so far, and what it tells of its way in the end.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/strategy/float_gain.hpp"
#include "quasar/strategy/left_in_float.hpp"
#include "quasar/strategy/strategy.hpp"
#include "quasar/strategy/tuning_space.hpp"

namespace quasar::tune {

class TunerNotes {
 public:
  // `strategy`: its name. The others outlive it.
  TunerNotes(const StrategyContext& context, const TuningSpace& space, const std::string& strategy);

  // What the trial loses, as the criterion counts it (loss_of); infinite for one that failed.
  double loss(const search::Trial& trial) const;
  // Why a trial is no candidate, in words: "loss 0.0014 > 0.0012".
  std::string why_missed(const search::Trial& trial) const;
  // a loses less than b.
  bool better(const search::Trial& a, const search::Trial& b) const { return loss(a) < loss(b); }

  // The best so far, and whether the goal is met by some trial.
  const std::optional<search::Trial>& best() const { return best_; }
  bool met() const { return met_.has_value(); }
  // Of those that meet the goal the one that gives up least.
  const std::optional<search::Trial>& success() const { return met_; }
  // Whether the goal is met by models of which hardly anything is quantized only.
  bool met_in_float() const { return met_ && is_nearly_float(*met_); }
  // Trials that may still be started after those on the way so far.
  size_t left() const;

  void tell(const std::string& step);         // names what follows, for the report
  void tell(std::vector<std::string> steps);  // the same for each of the next configurations
  // What operators were ranked by, the most sensitive first.
  void tell_sensitivity(std::vector<Story::Sensitivity> list) { sensitivity_ = std::move(list); }
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

 protected:
  void begin_step();                                    // of those that tell() has named
  std::string step_ahead(size_t configurations) const;  // of the configuration after so many more
  void forget_steps() { steps_to_come_.clear(); }
  // `round`: of several sampling sizes the one that the trial was made with.
  void note(const search::Trial& trial, const std::optional<Json>& round = std::nullopt);
  bool has_met_in_this_part() const { return met_ && met_->number != met_before_; }
  bool has_a_loss() const { return !way_.empty(); }  // of some trial
  size_t passed() const { return passed_.size(); }
  std::string shortfall() const;
  void conclude(Finding& finding) const;  // winner, warnings and story

 private:
  bool preferred(const search::Trial& a, const search::Trial& b) const;
  bool is_nearly_float(const search::Trial& trial) const;  // by work and bytes
  const search::Trial* result() const;                     // nullptr: nothing was scored
  std::vector<Story::InFloat> left_over() const;
  std::string advice_to_repair(size_t left_over) const;
  Story::InFloat left(const std::string& node, const search::Trial& trial, const std::string& step) const;

  const StrategyContext& context_;
  const TuningSpace& space_;
  const std::string strategy_;
  const bool by_objective_;  // a cost decides which of those that meet the goal is chosen
  const Measures baseline_;
  const LeftInFloat left_in_float_;
  std::optional<search::Trial> best_, met_;  // met: with the least given up
  std::optional<int64_t> met_before_;        // number of the trial that had met it before this part
  std::optional<search::Trial> accurate_;    // nearest to the constraints among those that meet the criterion
  std::set<int64_t> passed_;                 // trials on the way so far, and what became of them
  search::Counts used_;
  std::string step_;
  std::vector<std::string> steps_to_come_;  // of the next trials
  std::vector<Story::Step> steps_;
  std::optional<std::vector<Story::Sensitivity>> sensitivity_;
  std::vector<std::string> warnings_;
  size_t part_ = 0;
  mutable std::map<int64_t, bool> nearly_float_;              // by trial, as far as it is known
  std::map<int64_t, size_t> part_of_;                         // by trial
  std::map<size_t, std::map<std::string, Refused>> refused_;  // by part and node
  std::vector<Passed> way_;                                   // trials with a loss, each once
};

}  // namespace quasar::tune
