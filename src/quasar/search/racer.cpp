#include "quasar/search/racer.hpp"

#include <cmath>
#include <utility>

namespace quasar::search {

Racer::Racer(std::unique_ptr<Pruner> pruner, const RacerOptions& options, std::span<const Trial> trials)
    : pruner_(std::move(pruner)), options_(options) {
  for (const Trial& trial : trials) take(trial);
}

void Racer::take(const Trial& trial) {
  const bool complete = trial.state == State::complete;
  if (!trial.finished() || trial.is_duplicate()) return;
  if (!complete && trial.intermediate.empty()) return;
  if (!rivals_.insert(trial.number).second) return;
  if (complete) complete_.insert(trial.number);
  for (const auto& [step, value] : trial.intermediate) note(trial.number, static_cast<size_t>(step), sign() * value);
}

// Of models that tie the first stays, so that a resumed study compares with the same one.
bool Racer::crown_losses(std::vector<double> losses) {
  const double mean = incumbent_.empty() ? 0 : mean_of(incumbent_);
  const bool is_better = incumbent_.empty() || mean_of(losses) < mean - tie * std::abs(mean);
  if (is_better) incumbent_ = std::move(losses);
  return is_better;
}

void Racer::crown(std::span<const double> values) {
  const std::scoped_lock lock(guard_);
  std::vector<double> losses(values.begin(), values.end());
  for (double& loss : losses) loss *= sign();
  if (crown_losses(std::move(losses))) incumbents_trial_ = -1;
}

void Racer::learn(const Trial& trial) {
  const std::scoped_lock lock(guard_);
  take(trial);
  const auto found = trial.user_attributes.find(best_values_attribute);
  if (trial.state != State::complete || trial.is_duplicate() || found == trial.user_attributes.end()) return;
  if (!found->is_array() || found->size() != options_.told) return;
  std::vector<double> losses;
  for (const Json& value : *found) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) return;
    losses.push_back(sign() * value.get<double>());
  }
  if (crown_losses(std::move(losses))) incumbents_trial_ = -1;
}

Json Racer::news_of(int64_t trial) {
  const std::scoped_lock lock(guard_);
  if (options_.told == 0 || incumbents_trial_ != trial || incumbent_.size() != options_.told) return nullptr;
  Json out = Json::array();
  for (const double loss : incumbent_) out.push_back(sign() * loss);
  return out;
}

bool Racer::gives_up(RunningTrial& job, std::span<const double> values, size_t total) {
  const double mean = mean_of(values);
  job.report(static_cast<int64_t>(values.size()), mean);
  const std::scoped_lock lock(guard_);
  rivals_.insert(job.number());
  std::vector<double> losses(values.begin(), values.end()), reached, completed;
  for (double& loss : losses) loss *= sign();
  if (values.size() == total && crown_losses(losses)) incumbents_trial_ = job.number();
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
  if (options_.is_spared && options_.is_spared(job.point())) return false;
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
