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
// Not wider than registers: GCC (12) keeps wider ones on the stack.
constexpr size_t ints_at_once = 8, doubles_at_once = 4;
typedef int32_t Ints __attribute__((vector_size(ints_at_once * sizeof(int32_t))));
typedef int32_t IntsThere __attribute__((vector_size(ints_at_once * sizeof(int32_t)), aligned(alignof(float)), may_alias));
typedef float FloatsThere __attribute__((vector_size(doubles_at_once * sizeof(float)), aligned(alignof(float)), may_alias));
typedef double Doubles __attribute__((vector_size(doubles_at_once * sizeof(double))));

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
  constexpr size_t int_parts = lanes / ints_at_once, double_parts = lanes / doubles_at_once;
  Ints low[int_parts], high[int_parts];
  for (size_t i = 0; i < int_parts; i++) {
    low[i] = Ints{} + std::numeric_limits<int32_t>::max();
    high[i] = Ints{} + std::numeric_limits<int32_t>::min();
  }
  Doubles sum[double_parts] = {}, squares[double_parts] = {};
  for (size_t block = 0; block < blocks; ++block, values += lanes) {
    for (size_t i = 0; i < int_parts; i++) {
      Ints bits = *reinterpret_cast<const IntsThere*>(values + i * ints_at_once);
      bits ^= (bits >> 31) & 0x7fffffff;
      low[i] = bits < low[i] ? bits : low[i];
      high[i] = bits > high[i] ? bits : high[i];
    }
    for (size_t i = 0; i < double_parts; i++) {
      const FloatsThere& x = *reinterpret_cast<const FloatsThere*>(values + i * doubles_at_once);
      const Doubles wide = __builtin_convertvector(x, Doubles);
      sum[i] += wide;
      squares[i] += wide * wide;
    }
  }
  std::memcpy(result.low, low, sizeof(low));
  std::memcpy(result.high, high, sizeof(high));
  std::memcpy(result.sum, sum, sizeof(sum));
  std::memcpy(result.squares, squares, sizeof(squares));
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
