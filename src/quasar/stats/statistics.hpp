// What was seen of the float model's values: requested once for all methods of a search, observed in one streaming pass.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/log.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::stats {

// A histogram whose range [-limit, limit) is a power of two and doubles when a value falls outside (neighbouring bins merge),
// so that it does not depend on the order of the samples and needs no known range. Bins have equal width; zero is a bin edge.
class Histogram {
 public:
  explicit Histogram(size_t bins = 4096);               // even
  void add(std::span<const float> values);              // NaN and infinities are counted apart
  void merge(const Histogram& other);                   // same number of bins

  double limit() const { return limit_; }
  double width() const { return 2 * limit_ / static_cast<double>(counts_.size()); }
  const std::vector<uint64_t>& counts() const { return counts_; }
  uint64_t total() const { return total_; }             // finite values
  // The value below which a share q of the mass lies, linear within a bin.
  double quantile(double q) const;

 private:
  std::vector<uint64_t> counts_;
  double limit_ = 0;                                    // 0: nothing but zeros seen yet
  uint64_t total_ = 0;
};

// What a method needs; requests of several methods are merged.
struct Requests {
  bool histogram = false;
  std::set<double> averages = {};                       // constants of moving averages of per-sample minima and maxima
  void merge(const Requests& other);
};

struct Range {
  double low = 0, high = 0;
  bool operator==(const Range&) const = default;
};

// Of one value (tensor) over all samples.
struct TensorStats {
  Range range;                                          // minimum and maximum
  std::map<double, Range> averaged;                     // by constant c: r ← (1 − c) r + c · (sample's range), fixed sample order
  Histogram histogram{2};
  double mean = 0, mean_square = 0;
  uint64_t count = 0, not_finite = 0;
};

// By value name.
using Statistics = std::map<std::string, TensorStats>;

struct CollectOptions {
  size_t threads = 0;                                   // 0: all cores; results do not depend on it
  std::set<size_t> prefixes = {};                       // also keep the statistics after so many samples
  Log log = {};
};

// Runs the model on every sample once, with the named values as outputs. Memory does not grow with the number of samples.
// -> number of samples -> statistics (the whole dataset's, and each prefix's). Throws Error for a value that is not finite.
std::map<size_t, Statistics> collect(const graph::Model& model, const data::Dataset& samples, const std::vector<std::string>& values,
                                     const Requests& requests, const CollectOptions& options = {});

}  // namespace quasar::stats
