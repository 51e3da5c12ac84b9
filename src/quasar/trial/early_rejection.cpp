#include "quasar/trial/early_rejection.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "quasar/base/rng.hpp"
#include "quasar/search/models/betting.hpp"

namespace quasar::tune {
namespace {

constexpr double hardest_share = 0.25;  // of the samples come first at most
constexpr double risk = 1e-3;           // probability of rejecting what would have met the criterion

}  // namespace

std::unique_ptr<EarlyRejection> EarlyRejection::of(const Aim& aim, const eval::Evaluator& evaluator, uint64_t seed) {
  if (!aim.criterion || aim.evaluator || !aim.goals.constraints.empty() || criterion_is_constraint(aim)) return nullptr;
  const std::string& metric = aim.criterion->parts.front().metric;
  const eval::Score& reference = evaluator.reference().at(metric);
  const auto made = eval::make_metric(metric);
  const auto best = made->best_possible();
  if (metric != aim.metrics.front() || !best || made->pooled() != nullptr || reference.per_sample.size() != evaluator.samples())
    return nullptr;
  const double tolerable = aim.criterion->tolerable_in_units(reference.value);
  return std::make_unique<EarlyRejection>(reference.per_sample, made->direction(), *best, tolerable, seed);
}

EarlyRejection::EarlyRejection(std::vector<double> reference, Direction direction, double best_possible, double tolerable,
                               uint64_t seed)
    : sign_(direction == Direction::minimize ? 1 : -1),
      losses_(std::move(reference)),
      floor_(sign_ * best_possible),
      tolerable_(tolerable),
      random_(Rng(seed).permutation(losses_.size())) {
  for (double& loss : losses_) loss *= sign_;
}

void EarlyRejection::begin(const std::vector<double>& values) {
  std::vector<size_t> hardest;
  const auto lost = [&](size_t i) { return sign_ * values[i] - losses_[i]; };
  for (const size_t i : random_) {
    if (values.size() == losses_.size() && lost(i) > 0) hardest.push_back(i);
  }
  std::ranges::stable_sort(hardest, [&](size_t a, size_t b) { return lost(a) > lost(b); });
  hardest.resize(std::min(hardest.size(), static_cast<size_t>(hardest_share * static_cast<double>(losses_.size()))));
  first_ = hardest.size();
  const std::set<size_t> chosen(hardest.begin(), hardest.end());
  order_ = std::move(hardest);
  for (const size_t i : random_) {
    if (!chosen.contains(i)) order_.push_back(i);
  }
  ordered_.clear();
  for (const size_t i : order_) ordered_.push_back(losses_[i]);
}

bool EarlyRejection::out_of_reach(std::span<const double> values) const {
  std::vector<double> losses(values.begin(), values.end());
  for (double& loss : losses) loss *= sign_;
  double lost = 0;
  const size_t known = std::min(first_, losses.size());
  for (size_t i = 0; i < known; ++i) lost += losses[i] - ordered_[i];
  const size_t others = ordered_.size() - known;
  if (others == 0) return false;
  const double slack = 1e-9 * static_cast<double>(ordered_.size()) * std::max(1.0, std::abs(tolerable_));
  const double margin = (static_cast<double>(ordered_.size()) * tolerable_ - lost + slack) / static_cast<double>(others);
  const auto rest = std::span<const double>(losses).subspan(known);
  return search::refuted(rest, std::span<const double>(ordered_).subspan(known), floor_, margin, -std::log(risk));
}

}  // namespace quasar::tune
