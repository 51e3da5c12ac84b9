// One line of text for what happens to a trial, as in auto_search.log.
#pragma once

#include <string>

#include "quasar/job/goal_parts.hpp"
#include "quasar/search/run.hpp"
#include "quasar/tune/summary.hpp"

namespace quasar::report {

class TrialWords {
 public:
  // Whose trials they are, now and after a search has gone on with another goal. `name`: of this process among others, which are
  // named where they ran a trial; "": there are none. `is_worker`: another process leads the search.
  explicit TrialWords(const tune::Aim& aim, std::string name = "", bool is_worker = false)
      : name_(std::move(name)), is_worker_(is_worker) {
    follow(aim);
  }
  void follow(const tune::Aim& aim);
  // From now on values stand beside the goal, where that is a bound of the objective, and lines say which other bounds a trial
  // misses. `baseline`: of the float model.
  void compare_with(const tune::Measured& baseline);

  // The metric of a trial's value.
  const std::string& objective() const { return objective_; }

  // What became of it: "top1 0.4575 (goal: at least 0.48), 3 operators in float; fallback by blocks", "top1 0.49, misses bytes
  // (max 70000, is 78119)".
  std::string of(const search::Trial& trial) const;

  // "trial 3 started: activation=…" or "trial 3 L2 0.0123 (0.02 s); activation=…".
  std::string line_of(const search::Event& event) const;

 private:
  std::string value_of(const search::Trial& trial) const;
  std::string outcome_of(const search::Trial& trial) const;
  std::string shortcomings_of(const search::Trial& trial) const;

  tune::Aim aim_;
  std::string name_, objective_, goal_;
  bool is_worker_;
  std::optional<eval::Scores> baseline_;  // nullopt: not measured yet
};

}  // namespace quasar::report
