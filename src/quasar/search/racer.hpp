// Keeps what pruners compare a trial with: the incumbent's values of every sample, and how other trials stood after as many.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "quasar/search/pruner.hpp"
#include "quasar/search/run.hpp"

namespace quasar::search {

struct RacerOptions {
  Direction direction = Direction::minimize;
  double best_possible = 0;                // no sample's value is better
  std::optional<double> good_enough = {};  // a mean that makes a candidate
};

// Means that differ by no more than this share are the same: sums in another order.
inline constexpr double tie = 1e-12;

// Thread-safe. With one job at a time its answers are the same every time; with several they depend on which trial is first.
class Racer {
 public:
  // Begins with the trials of earlier runs; their values of single samples are not known, so that crown() is due.
  Racer(std::unique_ptr<Pruner> pruner, const RacerOptions& options, std::span<const Trial> trials);

  // The values of all samples, in the race's order, of a trial that is complete.
  void crown(std::span<const double> values);

  // After a block of samples: reports their mean as the job's intermediate value and asks the pruner. `values`: of the samples so
  // far, in the race's order. With all of them the trial is complete, and becomes the incumbent if it is the best. true: give up.
  bool gives_up(RunningTrial& job, std::span<const double> values, size_t total);

 private:
  struct Standing {
    int64_t trial;
    double mean;
  };

  double sign() const { return options_.direction == Direction::minimize ? 1 : -1; }
  void note(int64_t trial, size_t step, double mean) { standings_[step].push_back({trial, mean}); }

  std::unique_ptr<Pruner> pruner_;
  RacerOptions options_;
  std::mutex guard_;
  std::map<size_t, std::vector<Standing>> standings_;  // mean losses after so many samples
  std::set<int64_t> rivals_, complete_;                // trials
  std::map<int64_t, size_t> looked_;                   // running trial -> samples at its last look
  std::vector<double> incumbent_;                      // losses
};

}  // namespace quasar::search
