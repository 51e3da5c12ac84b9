#include "quasar/search/racer.hpp"

#include <cmath>
#include <utility>

namespace quasar::search {

Racer::Racer(std::unique_ptr<Pruner> pruner, const RacerOptions& options, std::span<const Trial> trials)
    : pruner_(std::move(pruner)), options_(options) {
  for (const Trial& trial : trials) {
    const bool complete = trial.state == State::complete;
    if (!trial.finished() || trial.is_duplicate()) continue;
    if (!complete && trial.intermediate.empty()) continue;
    rivals_.insert(trial.number);
    if (complete) complete_.insert(trial.number);
    for (const auto& [step, value] : trial.intermediate) note(trial.number, static_cast<size_t>(step), sign() * value);
  }
}

void Racer::crown(std::span<const double> values) {
  const std::scoped_lock lock(guard_);
  std::vector<double> losses(values.begin(), values.end());
  for (double& loss : losses) loss *= sign();
  // Of models that tie the first stays, so that a resumed study compares with the same one.
  const double mean = incumbent_.empty() ? 0 : mean_of(incumbent_);
  if (incumbent_.empty() || mean_of(losses) < mean - tie * std::abs(mean)) incumbent_ = std::move(losses);
}

bool Racer::gives_up(RunningTrial& job, std::span<const double> values, size_t total) {
  const double mean = mean_of(values);
  job.report(static_cast<int64_t>(values.size()), mean);
  if (values.size() == total) crown(values);
  const std::scoped_lock lock(guard_);
  rivals_.insert(job.number());
  std::vector<double> losses(values.begin(), values.end()), reached, completed;
  for (double& loss : losses) loss *= sign();
  for (const Standing& other : standings_[values.size()]) {
    reached.push_back(other.mean);
    if (complete_.contains(other.trial)) completed.push_back(other.mean);
  }
  note(job.number(), values.size(), sign() * mean);
  if (values.size() == total) {
    complete_.insert(job.number());
    looked_.erase(job.number());
    return false;
  }
  const size_t before = std::exchange(looked_[job.number()], values.size());
  std::optional<double> good_enough = options_.good_enough;
  if (good_enough) *good_enough *= sign();
  return pruner_->gives_up({.losses = losses,
                            .before = before,
                            .total = total,
                            .floor = sign() * options_.best_possible,
                            .incumbent = incumbent_,
                            .rivals = rivals_.size() - 1,
                            .good_enough = good_enough,
                            .reached = reached,
                            .completed = completed});
}

}  // namespace quasar::search
