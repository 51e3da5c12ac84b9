#include "quasar/eval/ledger.hpp"

#include "quasar/eval/sums.hpp"

namespace quasar::eval {
namespace {

Score mean_score(const Metric& metric, std::vector<double> values) {
  const auto n = static_cast<double>(values.size());
  Score score{.samples = values.size(), .per_sample = std::move(values)};
  const double total = sum(score.per_sample.size(), [&](size_t i) { return score.per_sample[i]; });
  score.value = total / n;
  std::tie(score.low, score.high) = metric.is_proportion() ? wilson(total, n) : bootstrap(score.per_sample);
  return score;
}

Score pooled_score(const PooledMetric& metric, std::span<const Part> parts) {
  const auto pool = metric.pool(parts);
  const std::vector<uint32_t> once(parts.size(), 1);
  Score score{.value = pool->value(once), .samples = parts.size(), .resampled = resampled(*pool, parts.size())};
  std::tie(score.low, score.high) = quantiles(score.resampled);
  return score;
}

}  // namespace

Ledger::Ledger(const std::vector<NamedMetric>& metrics, size_t count) : metrics_(metrics) {
  for (const auto& [name, metric] : metrics) {
    values_.emplace_back(metric->pooled() == nullptr ? count : 0);
    parts_.emplace_back(metric->pooled() == nullptr ? 0 : count);
  }
}

void Ledger::add(size_t sample, const Pair& pair, const Context& context) {
  for (size_t m = 0; m < metrics_.size(); ++m) {
    const auto* pooled = metrics_[m].metric->pooled();
    if (pooled == nullptr) {
      values_[m][sample] = metrics_[m].metric->of(pair, context);
    } else {
      parts_[m][sample] = pooled->part(pair, context);
    }
  }
}

Scores Ledger::scores() {
  Scores out;
  for (size_t m = 0; m < metrics_.size(); ++m) {
    const auto& [name, metric] = metrics_[m];
    const auto* pooled = metric->pooled();
    out[name] = pooled == nullptr ? mean_score(*metric, std::move(values_[m])) : pooled_score(*pooled, parts_[m]);
  }
  return out;
}

}  // namespace quasar::eval
