// Keeps what pruners compare a trial with: the incumbent's values of every sample, and how other trials stood after as many.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "quasar/search/best_values.hpp"
#include "quasar/search/pruner.hpp"
#include "quasar/search/run.hpp"

namespace quasar::search {

struct RacerOptions {
  Direction direction = Direction::minimize;
  double best_possible = 0;                // no sample's value is better
  std::optional<double> good_enough = {};  // a mean that makes a candidate
  size_t told = 0;                         // samples of a race whose best values other processes are to know; 0: there are none
  std::function<bool(const Point&)> is_spared = {};  // whose trials are never given up: something else speaks for them
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

  // What another process has found out by a trial of its own, which has ended; with its values of every sample it may become the
  // incumbent. Values that are none, or not as many as the race has, are passed over: whoever can write to the study wrote them.
  void learn(const Trial& trial);

  // The values of every sample of the trial, if it is the incumbent and others are to know; null: not.
  Json news_of(int64_t trial);

  // After a block of samples: reports their mean as the job's intermediate value and asks the pruner. `values`: of the samples so
  // far, in the race's order. With all of them the trial is complete, and becomes the incumbent if it is the best. true: give up.
  bool gives_up(RunningTrial& job, std::span<const double> values, size_t total);

 private:
  struct Standing {
    int64_t trial;
    double mean;
  };

  double sign() const { return options_.direction == Direction::minimize ? 1 : -1; }
  void take(const Trial& trial);
  bool crown_losses(std::vector<double> losses);
  void note(int64_t trial, size_t step, double mean) { standings_[step].push_back({trial, mean}); }

  std::unique_ptr<Pruner> pruner_;
  RacerOptions options_;
  std::mutex guard_;
  std::map<size_t, std::vector<Standing>> standings_;  // mean losses after so many samples
  std::set<int64_t> rivals_, complete_;                // trials
  std::map<int64_t, size_t> looked_;                   // running trial -> samples at its last look
  std::vector<double> incumbent_;                      // losses
  int64_t incumbents_trial_ = -1;                      // this process's; -1: another's, or of a model that was scored again
};

}  // namespace quasar::search
