// What a search by repair has found so far, and what it tells of its way in the end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quasar/job/job.hpp"
#include "quasar/sensitivity/unit_errors.hpp"
#include "quasar/strategy/left_in_float.hpp"
#include "quasar/strategy/repair_space.hpp"
#include "quasar/strategy/shortest_piece.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

// By the distance of the outputs' worst part, which is smooth where accuracy moves in steps of one sample. Where outputs have
// none (their number may depend on the data), by what the goal counts, from the first trial on that shows it.
class Guide {
 public:
  static constexpr const char* metric = "parts";

  // Both outlive it.
  Guide(const Aim& aim, const eval::Scores& reference) : aim_(aim), baseline_(measures_of(reference)) {}

  bool nearer(const search::Trial& a, const search::Trial& b);
  bool lost() const { return lost_; }

  // What the user should know: of a guide that was lost, and of operators that were ranked `locally`.
  std::string told(bool locally) const;

 private:
  const Aim& aim_;
  const Measures baseline_;
  bool lost_ = false;
};

// Parameters of a point, and what they become.
using Changes = std::vector<std::pair<std::string, Json>>;

class RepairNotes {
 public:
  // `context` outlives it.
  RepairNotes(const StrategyContext& context, std::vector<Rung> rungs);

  // Keeps the trial where it is nearer to the float model, and of those that are accurate enough the one that gives up least.
  void note(const search::Trial& trial, const std::string& step, const Changes& changes);
  // A trial with `operators` on the last rung, as many as may be.
  void note_most(const search::Trial& trial, size_t operators);
  // One with this operator in 8 bits, and the others as the ground has them (or more of them given up, where it was out of reach
  // even so); forgotten when the ground is another.
  void note_without(const std::string& node, const search::Trial& trial) { without_.insert_or_assign(node, trial); }
  // The same operators given up as in the ground, otherwise rounded: takes its place where it is nearer to the float model.
  void note_other_rounding(const search::Trial& trial);
  // As though nothing nearer had been found.
  void go_on_from(search::Trial trial) { current_ = std::move(trial); }
  void note_ranking(std::vector<UnitError> units) { units_ = std::move(units); }

  const std::vector<Rung>& rungs() const { return rungs_; }
  const std::vector<UnitError>& units() const { return units_; }  // ranked; empty: not yet
  const search::Trial& current() const { return *current_; }      // nearest to the float model; there is one after the first
  const std::optional<search::Trial>& met() const { return met_; }
  const std::optional<search::Trial>& accurate() const { return accurate_; }  // whatever it costs

  // Where operators come down from, and what must hold below: the whole goal once something meets it, accuracy until then.
  const search::Trial& ground() const { return met_ ? *met_ : *accurate_; }
  bool holds(const search::Trial& trial) const { return met_ ? trial.is_candidate() : is_accurate(trial); }

  // What a trial says of the accuracy.
  Verdict verdict_on(const search::Trial& trial) const;
  // The part of the tolerable loss that an accurate trial leaves.
  double room(const search::Trial& trial) const;
  // In operators above 8 bits.
  double price(const search::Trial& trial) const { return left_.given_up(context_.space, trial.point); }
  // What the node is when nothing of it is given up.
  Json cheapest(const std::string& node) const;

  // What was done in vain: subsets of the operators that were not tried may do better, though it is not likely.
  std::string shortfall() const;
  // Winner, warnings and story.
  void conclude(Finding& finding) const;

 private:
  bool is_accurate(const search::Trial& trial) const;
  const search::Trial* result() const;  // nullptr: nothing was scored
  std::vector<Story::InFloat> given_up() const;
  void tell_eight_bits(Story::InFloat& entry, const search::Trial& trial) const;

  const StrategyContext& context_;
  const std::vector<Rung> rungs_;
  Guide guide_;
  const LeftInFloat left_;
  std::optional<search::Trial> current_, met_, accurate_;  // met and accurate: with the least given up
  std::optional<std::pair<size_t, search::Trial>> most_;
  std::vector<UnitError> units_;                  // the most harmful first
  std::map<std::string, search::Trial> without_;  // by operator: what became of it in 8 bits
  std::vector<Story::Step> steps_;
};

// The choices of a parameter that has a list of them.
std::vector<Json> choices_of(const search::Parameter& parameter);

}  // namespace quasar::tune
