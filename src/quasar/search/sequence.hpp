// Trials chosen one after another in the light of the ones before: what a strategy that decides for itself is written with.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/search/run.hpp"

namespace quasar::search {

// Thrown by Sequence when no further trial may start; the strategy lets it pass, its caller turns it into the end of the run.
struct SequenceOver {
  RunResult result;
};

// Study, space and objective outlive the sequence. Not thread-safe; trials of one call run in parallel.
class QUASAR_API Sequence {
 public:
  // `options.first` must be empty.
  Sequence(RunOptions options, Study& study, const Space& space, StopConditions conditions, Objective objective);

  // The finished trial at this point. A point that the study has tried is recalled and costs nothing: a strategy that is resumed
  // repeats its way for free, as long as there is time. Throws SequenceOver when a stop condition holds, when someone stops the
  // run, or when a strategy asks for nothing but points that it has asked for already, most_repeats times in a row; Error for a
  // point that is not one of the space.
  // `step`: what it is tried for, in words, which is kept with a new trial. `ahead`: what to do while another process runs it.
  Trial evaluate(const Point& point, const std::string& step = "", const Ahead& ahead = {});

  // The same for points that do not depend on each other: n_jobs of them at a time. In the order of `points`. `steps`: of each
  // point; empty: of none.
  std::vector<Trial> evaluate(std::span<const Point> points, std::span<const std::string> steps = {}, const Ahead& ahead = {});

  // Known points cost nothing, so that no other limit would end a strategy that goes round in circles.
  static constexpr size_t most_repeats = 1000;

  // The finished trial at this point; nullptr: there is none.
  const Trial* find(const Point& point) const;

  // Throws SequenceOver where someone stops the run or its time is up: for work between trials, which starts none.
  void check_time() const;
  // Until the time limit; infinite: there is none.
  double seconds_left() const;

  // What the run amounts to when the strategy ends by itself; `reason` in words.
  RunResult finished(const std::string& reason) const;

 private:
  void check_progress(std::span<const Trial> trials);

  RunOptions options_;
  Study& study_;
  const Space& space_;
  StopConditions conditions_;
  Objective objective_;
  std::set<int64_t> passed_;  // trials on the way so far, those that were recalled too
  size_t repeats_ = 0;        // calls since the last one with a trial that was not among them
};

}  // namespace quasar::search
