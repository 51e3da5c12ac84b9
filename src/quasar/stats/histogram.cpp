#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

#include "quasar/base/cpu_dispatch.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::stats {
namespace {

constexpr size_t count_lanes = 16, count_block = 128;

// Below it, 1 / width would overflow in float.
constexpr double smallest_limit = 0x1p-100;
// Above every finite float.
constexpr double greatest_limit = 0x1p128;

// The smallest power of two above |x|.
double limit_for(double magnitude) {
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  return std::max(smallest_limit, std::ldexp(1.0, exponent));
}

// With m = ⌊|x| · per_width⌋: counts[half + m] += 1 for x > 0, counts[half − 1 − m] += 1 for x < 0. Zeros go to counts[2 half …],
// 16 slots in turn: increments of one slot in a row would wait for each other. The product is exact because per_width is a
// power of two, so that the bin of a value is the same whether bins were merged before or after it came.
QUASAR_CLONES("avx512f", "avx2", "default")
void count(const float* values, size_t blocks, float per_width, int32_t half, uint64_t* counts) {
  int32_t index[count_block];
  for (size_t b = 0; b < blocks; ++b, values += count_block) {
    for (size_t i = 0; i < count_block; ++i) {  // apart from the counting and without branches, so that it is vectorized
      const int32_t bits = std::bit_cast<int32_t>(values[i]);
      const int32_t m = static_cast<int32_t>(std::abs(values[i]) * per_width);
      const int32_t bin = (m ^ (bits >> 31)) + half;
      const int32_t zero_slot = 2 * half + static_cast<int32_t>(i % count_lanes);
      index[i] = (bits & 0x7fffffff) == 0 ? zero_slot : bin;
    }
    for (const int32_t i : index) ++counts[i];
  }
}

}  // namespace

Histogram::Histogram(size_t bins) : bins_(bins), counts_(bins + count_lanes, 0) {
  assert(std::has_single_bit(bins) && bins >= 2);
}

void Histogram::add(std::span<const float> values) {
  add(values, summarize(values));
}

void Histogram::add(std::span<const float> values, const Summary& summary) {
  if (summary.not_finite > 0) {
    std::vector<float> finite;
    std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](float x) { return std::isfinite(x); });
    Summary rest = summary;
    rest.not_finite = 0;
    not_finite_ += summary.not_finite;
    return add(finite, rest);
  }
  if (values.empty()) return;
  const Range seen{summary.low, summary.high};
  range_ = total_ == 0 ? seen : Range{std::min(range_.low, seen.low), std::max(range_.high, seen.high)};
  total_ += values.size();
  const double magnitude = std::max(-seen.low, seen.high);
  if (magnitude > 0) widen(limit_for(magnitude));
  if (limit_ == 0) {
    zeros_ += values.size();
    return;
  }
  const int32_t half = static_cast<int32_t>(bins_ / 2);
  const float per_width = static_cast<float>(1 / width());
  const size_t whole = values.size() / count_block;
  count(values.data(), whole, per_width, half, counts_.data());
  if (const size_t left = values.size() - whole * count_block; left > 0) {
    float padded[count_block] = {};
    std::copy_n(values.end() - static_cast<std::ptrdiff_t>(left), left, padded);
    count(padded, 1, per_width, half, counts_.data());
    zeros_ -= count_block - left;
  }
  for (size_t slot = bins_; slot < bins_ + count_lanes; ++slot) zeros_ += std::exchange(counts_[slot], 0);
}

Histogram Histogram::restored(std::span<const uint64_t> counts, double limit, uint64_t zeros, uint64_t not_finite,
                              const Range& range) {
  Histogram out(counts.size());
  std::ranges::copy(counts, out.counts_.begin());
  out.limit_ = limit;
  out.zeros_ = zeros;
  out.total_ = std::accumulate(counts.begin(), counts.end(), zeros);
  out.not_finite_ = not_finite;
  out.range_ = range;
  return out;
}

bool Histogram::is_limit(double limit) {
  return limit >= smallest_limit && limit <= greatest_limit && limit == limit_for(limit / 2);
}

void Histogram::widen(double limit) {
  if (limit_ == 0) limit_ = limit;
  const size_t half = bins_ / 2;
  for (; limit_ < limit; limit_ *= 2) {
    // Away from zero on both sides: pairs (2j, 2j + 1) become j, where j counts from zero; an odd one out keeps its side.
    for (size_t j = 0; j < half; ++j) {
      const bool inside = 2 * j < half;
      const uint64_t odd = 2 * j + 1 < half ? counts_[half + 2 * j + 1] : 0;
      counts_[half + j] = inside ? counts_[half + 2 * j] + odd : 0;
    }
    for (size_t j = 0; j < half; ++j) {
      const bool inside = 2 * j < half;
      const uint64_t odd = 2 * j + 1 < half ? counts_[half - 2 * j - 2] : 0;
      counts_[half - 1 - j] = inside ? counts_[half - 1 - 2 * j] + odd : 0;
    }
  }
}

void Histogram::merge(const Histogram& other) {
  assert(other.bins_ == bins_);
  not_finite_ += other.not_finite_;
  if (other.total_ == 0) return;
  range_ = total_ == 0 ? other.range_ : Range{std::min(range_.low, other.range_.low), std::max(range_.high, other.range_.high)};
  total_ += other.total_;
  zeros_ += other.zeros_;
  if (other.limit_ == 0) return;
  widen(other.limit_);
  if (other.limit_ == limit_) {
    for (size_t i = 0; i < bins_; ++i) counts_[i] += other.counts_[i];
    return;
  }
  Histogram wide = other;
  wide.widen(limit_);
  for (size_t i = 0; i < bins_; ++i) counts_[i] += wide.counts_[i];
}

double Histogram::quantile(double q) const {
  if (total_ == 0) return 0;
  const double wanted = std::clamp(q, 0.0, 1.0) * static_cast<double>(total_);
  const auto bounded = [this](double x) { return std::clamp(x, range_.low, range_.high); };
  uint64_t below = 0;
  for (size_t i = 0; i < bins_; ++i) {
    if (i == bins_ / 2) {
      if (zeros_ > 0 && static_cast<double>(below + zeros_) >= wanted) return bounded(0);
      below += zeros_;
    }
    if (counts_[i] == 0) continue;
    if (static_cast<double>(below + counts_[i]) >= wanted) {
      const double share = (wanted - static_cast<double>(below)) / static_cast<double>(counts_[i]);
      return bounded(edge(i) + share * width());
    }
    below += counts_[i];
  }
  return range_.high;
}

}  // namespace quasar::stats
