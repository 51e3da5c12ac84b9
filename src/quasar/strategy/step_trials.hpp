// The trials of a tuner's steps, n_jobs at a time and shared out among workers, with the answer of one after the other.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/search/sequence.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

inline constexpr const char* goal_met = "the accuracy criterion is met";

// timeout 0: the first success ends a run.
std::unique_ptr<search::StopCondition> first_success();

// Points of one call do not depend on each other. Throws what search::Sequence throws.
class StepTrials {
 public:
  // `context` outlives it.
  StepTrials(const StrategyContext& context, const std::string& stage);

  // So many of `left` trials are best made at a time, of `nodes` operators: many enough for all workers, few enough for memory.
  static size_t at_once(size_t left, size_t nodes);

  // Each point's finished trial, in their order. One that the study has costs nothing.
  // `steps`: what each is tried for, in words.
  std::vector<search::Trial> evaluate(std::span<const search::Point> points, std::span<const std::string> steps) {
    return sequence_.evaluate(points, steps);
  }

  // Runs several in any order, no more of them once one succeeds. -> those up to the first success in their order, which alone
  // count (all: there is none).
  std::span<const search::Point> to_first_success(std::span<const search::Point> points, std::span<const std::string> steps);

  // The finished trial at this point; nullptr: there is none.
  const search::Trial* find(const search::Point& point) const { return sequence_.find(point); }

  // What the run amounts to so far; `reason` in words.
  search::RunResult finished(const std::string& reason) const { return sequence_.finished(reason); }
  const search::Sequence& sequence() const { return sequence_; }

 private:
  // The place of the first point whose trial is finished and good enough.
  std::optional<size_t> success_among(std::span<const search::Point> points) const;

  const StrategyContext& context_;
  const std::string stage_;
  std::shared_ptr<std::optional<size_t>> successes_ = std::make_shared<std::optional<size_t>>();  // one more ends the trials
  search::Sequence sequence_;
};

}  // namespace quasar::tune
