// What one model's samples gave so far, for every metric: the value of a mean, the part of another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quasar/eval/intervals.hpp"
#include "quasar/eval/metric.hpp"

namespace quasar::eval {

struct NamedMetric {
  std::string name;
  std::unique_ptr<Metric> metric;
};

class Ledger {
 public:
  // The metrics live as long as the ledger. `count`: of the samples.
  Ledger(const std::vector<NamedMetric>& metrics, size_t count);

  // From any thread, once per sample. Throws Error as Metric::of().
  void add(size_t sample, const Pair& pair, const Context& context);

  // The first metric's value of a sample; 0 for one that is no mean.
  double value(size_t sample) const { return values_.front().empty() ? 0 : values_.front()[sample]; }

  // After the last sample, once.
  Scores scores();

 private:
  const std::vector<NamedMetric>& metrics_;
  std::vector<std::vector<double>> values_;
  std::vector<std::vector<Part>> parts_;
};

}  // namespace quasar::eval
