#include "quasar/stats/summary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "quasar/base/cpu_dispatch.hpp"

namespace quasar::stats {
namespace {

constexpr size_t lanes = 16;
typedef float Floats __attribute__((vector_size(lanes * sizeof(float))));
typedef int32_t Ints __attribute__((vector_size(lanes * sizeof(int32_t))));
typedef double Doubles __attribute__((vector_size(lanes * sizeof(double))));

// Floats as integers of the same order: −inf < … < −0 < +0 < … < +inf, NaN outside. Its own inverse.
constexpr int32_t ordered(int32_t bits) {
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
constexpr int32_t infinity = 0x7f800000;

struct Lanes {
  int32_t low[lanes], high[lanes];
  double sum[lanes], squares[lanes];
};

QUASAR_CLONES("avx512f", "avx2", "default") void reduce(const float* values, size_t blocks, Lanes& result) {
  Ints low = Ints{} + std::numeric_limits<int32_t>::max();
  Ints high = Ints{} + std::numeric_limits<int32_t>::min();
  Doubles sum{}, squares{};
  for (size_t block = 0; block < blocks; ++block, values += lanes) {
    Floats x;
    Ints bits;
    std::memcpy(&x, values, sizeof(x));
    std::memcpy(&bits, values, sizeof(bits));
    bits ^= (bits >> 31) & 0x7fffffff;
    low = bits < low ? bits : low;
    high = bits > high ? bits : high;
    const Doubles wide = __builtin_convertvector(x, Doubles);
    sum += wide;
    squares += wide * wide;
  }
  std::memcpy(result.low, &low, sizeof(low));
  std::memcpy(result.high, &high, sizeof(high));
  std::memcpy(result.sum, &sum, sizeof(sum));
  std::memcpy(result.squares, &squares, sizeof(squares));
}

Summary summarize_finite(std::span<const float> values) {
  std::vector<float> finite;
  finite.reserve(values.size());
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](float x) { return std::isfinite(x); });
  Summary result = summarize(finite);
  result.not_finite = values.size() - finite.size();
  return result;
}

}  // namespace

Summary summarize(std::span<const float> values) {
  if (values.empty()) return {};
  Lanes lane;
  const size_t whole = values.size() / lanes;
  reduce(values.data(), whole, lane);
  for (size_t i = whole * lanes, j = 0; i < values.size(); ++i, ++j) {
    const int32_t bits = ordered(std::bit_cast<int32_t>(values[i]));
    lane.low[j] = std::min(lane.low[j], bits);
    lane.high[j] = std::max(lane.high[j], bits);
    const double wide = values[i];
    lane.sum[j] += wide;
    lane.squares[j] += wide * wide;
  }
  const int32_t low = *std::min_element(lane.low, lane.low + lanes);
  const int32_t high = *std::max_element(lane.high, lane.high + lanes);
  if (low <= ordered(std::bit_cast<int32_t>(-std::numeric_limits<float>::infinity())) || high >= infinity) {
    return summarize_finite(values);
  }
  Summary result{.low = std::bit_cast<float>(ordered(low)), .high = std::bit_cast<float>(ordered(high)), .count = values.size()};
  for (size_t j = 0; j < lanes; ++j) {
    result.sum += lane.sum[j];
    result.sum_squares += lane.squares[j];
  }
  return result;
}

}  // namespace quasar::stats
