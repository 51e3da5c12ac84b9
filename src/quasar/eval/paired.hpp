// Two models on the same samples: what the difference between them is worth.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "quasar/eval/evaluate.hpp"

namespace quasar::eval {

// McNemar's exact test (McNemar 1947; two-sided binomial): the probability of a split at least as uneven as lost : gained when
// both models are equally good, min(1, 2·Σ_{k ≤ min} C(n,k) / 2ⁿ), n = lost + gained. 1 when n is 0.
double mcnemar(size_t lost, size_t gained);

// Samples that only the reference, and only the candidate, has right, and McNemar's p of them.
struct Paired {
  size_t lost = 0, gained = 0;
  double p = 1;
};

// For every metric that counts right answers against labels. Both were scored on the same samples.
std::map<std::string, Paired> against(const Scores& reference, const Scores& candidate);

// rival − best with its 95 % interval: bootstrap of the differences of every sample, or for a metric that is no mean over samples
// the differences of its resampled values. Both are the metric's scores of the same samples; nullopt where these are not known.
struct Difference {
  double value = 0, low = 0, high = 0;
};
std::optional<Difference> difference(const Score& best, const Score& rival);

}  // namespace quasar::eval
