// Metrics: one file each in metrics/. Per sample, then the mean over samples.
#pragma once

#include <optional>
#include <span>

#include "quasar/base/plugin.hpp"

namespace quasar::eval {

enum class Direction { minimize, maximize };

// What all samples share.
struct Context {
  double low = 0, high = 0;  // range of the float model's outputs over the whole evaluation set
};

// All outputs of one sample, flattened and concatenated, from the float model and from the candidate.
struct Pair {
  std::span<const float> reference, candidate;
  std::optional<int64_t> label;
};

class Metric {
 public:
  virtual ~Metric() = default;
  virtual Direction direction() const = 0;
  virtual bool needs_labels() const { return false; }
  virtual bool is_proportion() const { return false; }  // per-sample values are 0 or 1: Wilson's interval

  // The best value that any sample can have (0 for a distance, 1 for a share). nullopt: there is none, or the metric is no mean
  // over samples; its trials are never given up early.
  virtual std::optional<double> best_possible() const { return std::nullopt; }
  virtual double of(const Pair& sample, const Context& context) const = 0;
};

}  // namespace quasar::eval

namespace quasar::eval::metrics {
const Table<Metric>& table();
}
