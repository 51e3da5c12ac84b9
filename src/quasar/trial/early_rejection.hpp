// Gives up candidates that cannot meet the accuracy criterion any more, before all samples are scored.
//
// The samples on which an earlier model lost most against the float model come first: there a candidate that fails shows it
// soonest. What it loses on them is known exactly; the others come in random order, and only their part of the statement is a
// test:
//
//   Σ over all N samples of d_i ≤ N·m   <=>   mean over the others ≤ (N·m − Σ over the first of d_i) / number of the others
//
// d_i: the candidate's loss of sample i minus the float model's, m: what the criterion tolerates. It is refuted by betting
// (search/models/betting.hpp) with an error of 1 in 1000 for each candidate. The hardest samples order the work; no sample and no
// part of them ever proves that the criterion is met: whatever is not rejected is scored on all of them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "quasar/eval/evaluate.hpp"
#include "quasar/job/job.hpp"

namespace quasar::tune {

// begin() and end() while no trial runs; all else may be called from several threads.
class EarlyRejection {
 public:
  // nullptr where nothing can be said before the end: no criterion, or one about several metrics, about a metric that is no mean
  // over samples or not what trials are ranked by; constraints; an evaluator of the user's.
  static std::unique_ptr<EarlyRejection> of(const Aim& aim, const eval::Evaluator& evaluator, uint64_t seed);

  // `reference`: the float model's values of every sample. `tolerable`: what the mean may lose.
  EarlyRejection(std::vector<double> reference, Direction direction, double best_possible, double tolerable, uint64_t seed);

  // From now on candidates are watched. `values`: of every sample by an earlier model; empty: none is known, the order is random.
  void begin(const std::vector<double>& values);
  void end() { order_.clear(); }
  void pause(bool paused) { paused_ = paused; }
  bool watches() const { return !order_.empty() && !paused_; }

  // In which samples are scored.
  std::span<const size_t> order() const { return order_; }
  // `values`: of the first samples in this order, some but not all.
  bool out_of_reach(std::span<const double> values) const;

 private:
  double sign_;                 // values times it are losses
  std::vector<double> losses_;  // the float model's
  double floor_, tolerable_;
  std::vector<size_t> random_, order_;
  std::vector<double> ordered_;  // losses_ in that order
  size_t first_ = 0;             // the hardest: so many of the order
  bool paused_ = false;
};

// begin() and end().
class Watching {
 public:
  Watching(EarlyRejection* rejection, const std::vector<double>& values) : rejection_(rejection) {
    if (rejection_ != nullptr) rejection_->begin(values);
  }
  ~Watching() {
    if (rejection_ != nullptr) rejection_->end();
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  EarlyRejection* rejection_;
};

}  // namespace quasar::tune
