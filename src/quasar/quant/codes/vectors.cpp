#include "quasar/quant/codes/vectors.hpp"

#include <cstring>

#include "quasar/base/cpu_dispatch.hpp"

namespace quasar::quant {
namespace {

constexpr size_t double_lanes = 8;
// In vectors that fit registers, and read by their address: GCC (12) keeps wider ones on the stack, and what memcpy gives.
constexpr size_t doubles_at_once = 4, double_parts = double_lanes / doubles_at_once;
typedef double Doubles __attribute__((vector_size(doubles_at_once * sizeof(double))));
typedef double DoublesThere __attribute__((vector_size(doubles_at_once * sizeof(double)), aligned(alignof(double)), may_alias));

[[gnu::always_inline]] inline const DoublesThere& doubles_at(const double* from, size_t part) {
  return *reinterpret_cast<const DoublesThere*>(from + part * doubles_at_once);
}

[[gnu::always_inline]] inline DoublesThere& doubles_at(double* from, size_t part) {
  return *reinterpret_cast<DoublesThere*>(from + part * doubles_at_once);
}

// add_rows() for `count` vectors and `double_lanes` elements of each, which stay in registers.
template <size_t count>
[[gnu::always_inline]] inline void add_tile(size_t rows, const double* const* a, const double* x, std::ptrdiff_t stride,
                                            size_t at, double* const* y) {
  Doubles sums[count][double_parts];
  for (size_t t = 0; t < count; t++) {
    for (size_t i = 0; i < double_parts; i++) sums[t][i] = doubles_at(y[t] + at, i);
  }
  for (size_t r = 0; r < rows; r++) {
    const double* const from = x + static_cast<std::ptrdiff_t>(r) * stride + at;
    for (size_t t = 0; t < count; t++) {
      for (size_t i = 0; i < double_parts; i++) sums[t][i] += a[t][r] * doubles_at(from, i);
    }
  }
  for (size_t t = 0; t < count; t++) {
    for (size_t i = 0; i < double_parts; i++) doubles_at(y[t] + at, i) = sums[t][i];
  }
}

template <size_t count>
[[gnu::always_inline]] inline void add_rows_of(size_t n, size_t rows, const double* const* a, const double* x,
                                               std::ptrdiff_t stride, double* const* y) {
  size_t i = 0;
  for (; i + double_lanes <= n; i += double_lanes) add_tile<count>(rows, a, x, stride, i, y);
  for (; i < n; i++) {
    for (size_t t = 0; t < count; t++) {
      double sum = y[t][i];
      for (size_t r = 0; r < rows; r++)
        sum += a[t][r] * x[static_cast<std::ptrdiff_t>(r) * stride + static_cast<std::ptrdiff_t>(i)];
      y[t][i] = sum;
    }
  }
}

template <size_t count>
[[gnu::always_inline]] inline void add_dots_of(size_t n, const double* x, const double* const* y, double* sums, size_t distance) {
  Doubles partial[count][double_parts];
  for (size_t t = 0; t < count; t++) {
    for (size_t i = 0; i < double_parts; i++) partial[t][i] = doubles_at(sums + t * distance, i);
  }
  for (size_t at = 0; at < n; at += double_lanes) {
    for (size_t t = 0; t < count; t++) {
      for (size_t i = 0; i < double_parts; i++) partial[t][i] += doubles_at(x + at, i) * doubles_at(y[t] + at, i);
    }
  }
  for (size_t t = 0; t < count; t++) {
    for (size_t i = 0; i < double_parts; i++) doubles_at(sums + t * distance, i) = partial[t][i];
  }
}

}  // namespace

QUASAR_CLONES("avx512f", "avx2", "default") void add_scaled(size_t n, double a, const double* x, double* y) {
  for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

QUASAR_CLONES("avx512f", "avx2", "default")
void add_rows(size_t n, size_t rows, size_t count, const double* const* a, const double* x, std::ptrdiff_t stride,
              double* const* y) {
  size_t t = 0;
  for (; t + 4 <= count; t += 4) add_rows_of<4>(n, rows, a + t, x, stride, y + t);
  if (t + 2 <= count) {
    add_rows_of<2>(n, rows, a + t, x, stride, y + t);
    t += 2;
  }
  if (t < count) add_rows_of<1>(n, rows, a + t, x, stride, y + t);
}

QUASAR_CLONES("avx512f", "avx2", "default")
void add_chosen_rows(size_t n, size_t rows, const double* a, const double* const* x, double* y) {
  size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const double a0 = a[r], a1 = a[r + 1], a2 = a[r + 2], a3 = a[r + 3];
    const double *x0 = x[r], *x1 = x[r + 1], *x2 = x[r + 2], *x3 = x[r + 3];
    for (size_t i = 0; i < n; i++) y[i] = (((y[i] + a0 * x0[i]) + a1 * x1[i]) + a2 * x2[i]) + a3 * x3[i];
  }
  for (; r < rows; r++) {
    for (size_t i = 0; i < n; i++) y[i] += a[r] * x[r][i];
  }
}

QUASAR_CLONES("avx512f", "avx2", "default") double dot(size_t n, const double* x, const double* y) {
  double partial[double_lanes] = {};
  size_t i = 0;
  for (; i + double_lanes <= n; i += double_lanes) {
    for (size_t l = 0; l < double_lanes; l++) partial[l] += x[i + l] * y[i + l];
  }
  return finish_dot(partial, i, n, x, y);
}

QUASAR_CLONES("avx512f", "avx2", "default")
void add_partial_dots(size_t n, size_t rows, size_t count, const double* x, size_t stride, const double* const* y, double* sums) {
  for (size_t r = 0; r < rows; r++, x += stride, sums += double_lanes) {
    size_t t = 0;
    for (; t + 4 <= count; t += 4) add_dots_of<4>(n, x, y + t, sums + t * rows * double_lanes, rows * double_lanes);
    for (; t < count; t++) add_dots_of<1>(n, x, y + t, sums + t * rows * double_lanes, rows * double_lanes);
  }
}

double finish_dot(const double known[double_lanes], size_t done, size_t n, const double* x, const double* y) {
  double partial[double_lanes];
  std::memcpy(partial, known, sizeof partial);
  for (; done + double_lanes <= n; done += double_lanes) {
    for (size_t l = 0; l < double_lanes; l++) partial[l] += x[done + l] * y[done + l];
  }
  double sum = 0;
  for (const double value : partial) sum += value;
  for (; done < n; done++) sum += x[done] * y[done];
  return sum;
}

}  // namespace quasar::quant
