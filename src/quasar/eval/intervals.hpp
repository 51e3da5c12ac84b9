// Scores, and how sure they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quasar/eval/metric.hpp"

namespace quasar::eval {

// One metric's result with a 95 % interval (Wilson's for proportions, bootstrap over samples otherwise).
struct Score {
  double value = 0;
  double low = 0, high = 0;
  size_t samples = 0;
  std::vector<double> per_sample = {};  // whose mean the value is; empty: the metric is no mean over samples
  std::vector<double> resampled = {};   // such a metric's values of resampled samples, the same resampling for every model
  std::vector<int32_t> answers = {};    // of a metric list's first one: each sample's arg max, where the output is one vector
};
using Scores = std::map<std::string, Score>;  // by metric name

// Wilson's 95 % interval for `successes` of n (Wilson 1927).
std::pair<double, double> wilson(double successes, double n);
// Percentile bootstrap of the mean, 1000 seeded resamples (Efron 1979).
std::pair<double, double> bootstrap(const std::vector<double>& values, uint64_t seed = 0);
// The same of a metric that is no mean: its values of 200 seeded resamples of n samples, in their order.
std::vector<double> resampled(const Pool& pool, size_t n, uint64_t seed = 0);
// The 2.5 % and 97.5 % quantiles of resampled values, of which there are at least 40.
std::pair<double, double> quantiles(std::vector<double> values);

}  // namespace quasar::eval
