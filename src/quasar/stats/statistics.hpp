// What was seen of the float model's values: requested once for all methods of a search, observed in one streaming pass.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/log.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/stats/channels.hpp"
#include "quasar/stats/summary.hpp"

namespace quasar::stats {

struct Range {
  double low = 0, high = 0;
  bool operator==(const Range&) const = default;
};

// A histogram whose range (-limit, limit) is a power of two and doubles when a value falls outside (neighbouring bins merge),
// so that it does not depend on the order of the samples and needs no known range. Bins have equal width; zero is a bin edge,
// and values that are exactly zero (after a Relu: most) are counted apart.
class Histogram {
 public:
  explicit Histogram(size_t bins = 8192);                           // a power of two, at least 2
  void add(std::span<const float> values);                          // NaN and infinities are counted apart
  void add(std::span<const float> values, const Summary& summary);  // the same, with summarize(values) at hand
  void merge(const Histogram& other);                               // same number of bins

  // One that stood elsewhere, by what its functions said there. The counts are as many as there are bins; the limit is 0 (then
  // they are too) or what one that has seen values may have.
  static Histogram restored(std::span<const uint64_t> counts, double limit, uint64_t zeros, uint64_t not_finite,
                            const Range& range);
  static bool is_limit(double limit);  // whether one that has seen values may have it

  double limit() const { return limit_; }  // 0: nothing but zeros seen yet
  double width() const { return 2 * limit_ / static_cast<double>(bins_); }
  size_t bins() const { return bins_; }
  // Bin i holds the values in [edge(i), edge(i + 1)), below zero those in (edge(i), edge(i + 1)], zeros excepted.
  double edge(size_t i) const { return (static_cast<double>(i) - static_cast<double>(bins_ / 2)) * width(); }
  std::span<const uint64_t> counts() const { return {counts_.data(), bins_}; }
  uint64_t zeros() const { return zeros_; }
  uint64_t total() const { return total_; }  // finite values, zeros included
  uint64_t not_finite() const { return not_finite_; }
  const Range& range() const { return range_; }  // least and greatest finite value; both 0 when there are none

  // The value below which a share q of the mass lies, linear within a bin, never outside range().
  double quantile(double q) const;
  bool operator==(const Histogram&) const = default;

 private:
  void widen(double limit);
  size_t bins_;
  std::vector<uint64_t> counts_;  // bins, then scratch slots for zeros (always 0 between calls)
  double limit_ = 0;
  uint64_t zeros_ = 0, total_ = 0, not_finite_ = 0;
  Range range_;
};

// What a method needs; requests of several methods are merged.
struct Requests {
  bool histogram = false;
  std::set<double> averages = {};  // constants of moving averages of per-sample minima and maxima
  void merge(const Requests& other);
};

// A range, or a scale and zero point, that the user gave for a value.
struct Given {
  std::optional<Range> range = {};  // infinite at both ends: the value stays in float
  double scale = 0;                 // without a range
  int32_t zero_point = 0;
  bool operator==(const Given&) const = default;
};

// Of one value (tensor) over all samples.
struct TensorStats {
  Range range;  // minimum and maximum
  // By constant c: the first sample's range, then r ← r + c · (sample's range − r) in the samples' order.
  std::map<double, Range> averaged;
  Histogram histogram{2};  // empty unless requested
  double mean = 0, mean_square = 0;
  uint64_t count = 0, not_finite = 0;
  Shape shape = {};  // of one sample; −1: samples differ, or (Softmax) the model leaves it open; empty: unknown, several ranks
  std::optional<Given> given = {};            // what the user said, in place of any method
  std::optional<ChannelStats> channels = {};  // of the axis asked for (CollectOptions); not kept in files
  bool operator==(const TensorStats&) const = default;
};

// The statistics of one array (a weight, or a slice of it) as if it were the only sample. Values that are not finite are
// counted in not_finite and otherwise left out.
TensorStats of_values(std::span<const float> values, const Requests& requests);

// By value name.
using Statistics = std::map<std::string, TensorStats>;

struct CollectOptions {
  size_t threads = 0;                    // 0: all cores; results do not depend on it
  std::set<size_t> prefixes = {};        // also keep the statistics after so many samples
  std::map<std::string, int> axes = {};  // of these values (others are ignored) also those of the channels along an axis
  Log log = {};
  Progress progress = {};
};

// Runs the model on every sample once, and looks at the named values (float32) while they are computed. None is kept: memory
// grows neither with the number of samples nor with that of values. More than 2000 values are looked at when the sample has run,
// and all of its values are held till then.
// -> number of samples -> statistics (the whole dataset's, and each prefix's). Throws Error for NaN, for infinite outputs of the
// model and for +inf in inputs (−inf is a mask), with name and sample, for a value that is not float32, and for a prefix beyond
// the number of samples.
std::map<size_t, Statistics> collect(const graph::Model& model, const data::Dataset& samples,
                                     const std::vector<std::string>& values, const Requests& requests,
                                     const CollectOptions& options = {});

}  // namespace quasar::stats
