// Sums and positions that the metrics share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace quasar::eval {

// Σ term(i) for i in 0 … count-1 in double precision. Eight running sums, always in the same order, so that the compiler may
// use vector registers and the result is the same everywhere.
template <class Term>
double sum(size_t count, const Term& term) {
  double lanes[8] = {};
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (size_t k = 0; k < 8; ++k) lanes[k] += term(i + k);
  }
  for (; i < count; ++i) lanes[i % 8] += term(i);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// Σ (a - b)²; the spans have the same size.
inline double squared_distance(std::span<const float> a, std::span<const float> b) {
  return sum(a.size(), [&](size_t i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    return d * d;
  });
}

// Σ a·b
inline double dot(std::span<const float> a, std::span<const float> b) {
  return sum(a.size(), [&](size_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); });
}

// How many values come before `index` when sorted from the greatest down (equal ones in the order of their places): 0 for the
// arg max.
inline size_t rank_of(std::span<const float> values, size_t index) {
  const float value = values[index];
  size_t before = 0;
  for (size_t i = 0; i < index; ++i) before += values[i] >= value ? 1 : 0;
  for (size_t i = index + 1; i < values.size(); ++i) before += values[i] > value ? 1 : 0;
  return before;
}

// Place of the first greatest value; the span is not empty and holds no NaN.
inline size_t arg_max(std::span<const float> values) {
  constexpr size_t width = 16;  // maxima side by side, in vector registers
  const size_t count = values.size();
  float lanes[width];
  std::fill_n(lanes, width, values[0]);
  size_t i = 0;
  for (; i + width <= count; i += width) {
    for (size_t k = 0; k < width; ++k) lanes[k] = values[i + k] > lanes[k] ? values[i + k] : lanes[k];
  }
  for (; i < count; ++i) lanes[0] = values[i] > lanes[0] ? values[i] : lanes[0];
  const float greatest = *std::max_element(lanes, lanes + width);
  return static_cast<size_t>(std::find(values.begin(), values.end(), greatest) - values.begin());
}

// Decibels are kept within ±200: identical outputs would give infinity, which no mean and no database survives.
constexpr double most_decibels = 200;

// 10·log10(signal / noise) of two powers (≥ 0), within ±200; 200 when there is no noise.
double decibels(double signal, double noise);

}  // namespace quasar::eval
