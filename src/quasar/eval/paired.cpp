#include "quasar/eval/paired.hpp"

#include <algorithm>
#include <cmath>

namespace quasar::eval {

double mcnemar(size_t lost, size_t gained) {
  const auto n = static_cast<double>(lost + gained);
  double tail = 0;
  for (size_t k = 0; k <= std::min(lost, gained); ++k) {
    const auto x = static_cast<double>(k);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) - n * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

std::map<std::string, Paired> against(const Scores& reference, const Scores& candidate) {
  std::map<std::string, Paired> out;
  for (const auto& [name, score] : candidate) {
    const auto was = reference.find(name);
    if (!is_metric_in_results(name) || was == reference.end() || score.per_sample.size() != was->second.per_sample.size())
      continue;
    const auto metric = make_metric(name);
    if (score.per_sample.empty() || !metric->is_proportion() || metric->needs() != Truth::label) continue;
    size_t lost = 0, gained = 0;
    for (size_t i = 0; i < score.per_sample.size(); ++i) {
      lost += was->second.per_sample[i] > score.per_sample[i] ? 1 : 0;
      gained += was->second.per_sample[i] < score.per_sample[i] ? 1 : 0;
    }
    out[name] = {lost, gained, mcnemar(lost, gained)};
  }
  return out;
}

std::optional<Difference> difference(const Score& best, const Score& rival) {
  const auto minus = [](const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> out(a.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = a[i] - b[i];
    return out;
  };
  const double value = rival.value - best.value;
  if (!best.per_sample.empty() && best.per_sample.size() == rival.per_sample.size()) {
    const auto [low, high] = bootstrap(minus(rival.per_sample, best.per_sample));
    return Difference{value, low, high};
  }
  if (best.resampled.empty() || best.resampled.size() != rival.resampled.size()) return std::nullopt;
  const auto [low, high] = quantiles(minus(rival.resampled, best.resampled));
  return Difference{value, low, high};
}

}  // namespace quasar::eval
