#include "quasar/quant/codes/vectors.hpp"

#include <algorithm>
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

QUASAR_CLONES("avx512f", "avx2", "default")
void add_rows_narrow(size_t n, size_t rows, size_t count, const double* const* a, const double* x, std::ptrdiff_t stride,
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
void add_partial_dots_narrow(size_t n, size_t rows, size_t count, const double* x, size_t stride, const double* const* y,
                             double* sums) {
  for (size_t r = 0; r < rows; r++, x += stride, sums += double_lanes) {
    size_t t = 0;
    for (; t + 4 <= count; t += 4) add_dots_of<4>(n, x, y + t, sums + t * rows * double_lanes, rows * double_lanes);
    for (; t < count; t++) add_dots_of<1>(n, x, y + t, sums + t * rows * double_lanes, rows * double_lanes);
  }
}

#ifdef QUASAR_WIDE
// The same sums, element by element, in vectors of 64 bytes.
typedef double Wide __attribute__((vector_size(double_lanes * sizeof(double))));
typedef double WideThere __attribute__((vector_size(double_lanes * sizeof(double)), aligned(alignof(double)), may_alias));
constexpr size_t wide_parts = 4;      // of four vectors: as many sums as registers hold beside what is read
constexpr size_t wide_stretch = 128;  // columns whose rows stay in the first-level cache for all vectors

template <size_t parts>
QUASAR_WIDE [[gnu::always_inline]] inline void add_wide_tile(size_t rows, const double* const* a, const double* x,
                                                             std::ptrdiff_t stride, double* const* y, size_t at) {
  Wide sums[4][parts];
  for (size_t t = 0; t < 4; t++) {
    for (size_t i = 0; i < parts; i++) sums[t][i] = *reinterpret_cast<const WideThere*>(y[t] + at + i * double_lanes);
  }
  for (size_t r = 0; r < rows; r++) {
    const double* const from = x + static_cast<std::ptrdiff_t>(r) * stride + at;
    for (size_t t = 0; t < 4; t++) {
      for (size_t i = 0; i < parts; i++) sums[t][i] += a[t][r] * *reinterpret_cast<const WideThere*>(from + i * double_lanes);
    }
  }
  for (size_t t = 0; t < 4; t++) {
    for (size_t i = 0; i < parts; i++) *reinterpret_cast<WideThere*>(y[t] + at + i * double_lanes) = sums[t][i];
  }
}

QUASAR_WIDE void add_rows_wide(size_t n, size_t rows, size_t count, const double* const* a, const double* x,
                               std::ptrdiff_t stride, double* const* y) {
  const size_t columns = n / double_lanes * double_lanes, vectors = count / 4 * 4;
  for (size_t first = 0; first < columns; first += wide_stretch) {
    const size_t last = std::min(first + wide_stretch, columns);
    for (size_t t = 0; t < vectors; t += 4) {
      size_t i = first;
      for (; i + wide_parts * double_lanes <= last; i += wide_parts * double_lanes)
        add_wide_tile<wide_parts>(rows, a + t, x, stride, y + t, i);
      for (; i < last; i += double_lanes) add_wide_tile<1>(rows, a + t, x, stride, y + t, i);
    }
  }
  for (size_t t = 0; t < vectors && columns < n; t++) {
    double* const rest = y[t] + columns;
    add_rows_narrow(n - columns, rows, 1, a + t, x + columns, stride, &rest);
  }
  if (vectors < count) add_rows_narrow(n, rows, count - vectors, a + vectors, x, stride, y + vectors);
}

template <size_t rows>
QUASAR_WIDE [[gnu::always_inline]] inline void add_wide_dots(size_t n, const double* x, size_t stride, const double* const* y,
                                                             double* sums, size_t distance) {
  Wide partial[4][rows];
  for (size_t t = 0; t < 4; t++) {
    for (size_t r = 0; r < rows; r++) partial[t][r] = *reinterpret_cast<const WideThere*>(sums + t * distance + r * double_lanes);
  }
  for (size_t at = 0; at < n; at += double_lanes) {
    for (size_t r = 0; r < rows; r++) {
      for (size_t t = 0; t < 4; t++)
        partial[t][r] +=
            *reinterpret_cast<const WideThere*>(x + r * stride + at) * *reinterpret_cast<const WideThere*>(y[t] + at);
    }
  }
  for (size_t t = 0; t < 4; t++) {
    for (size_t r = 0; r < rows; r++) *reinterpret_cast<WideThere*>(sums + t * distance + r * double_lanes) = partial[t][r];
  }
}

QUASAR_WIDE void add_partial_dots_wide(size_t n, size_t rows, size_t count, const double* x, size_t stride,
                                       const double* const* y, double* sums) {
  const size_t distance = rows * double_lanes, vectors = count / 4 * 4;
  for (size_t t = 0; t < vectors; t += 4) {
    size_t r = 0;
    for (; r + 4 <= rows; r += 4)
      add_wide_dots<4>(n, x + r * stride, stride, y + t, sums + t * distance + r * double_lanes, distance);
    for (; r < rows; r++) add_wide_dots<1>(n, x + r * stride, stride, y + t, sums + t * distance + r * double_lanes, distance);
  }
  if (vectors < count) add_partial_dots_narrow(n, rows, count - vectors, x, stride, y + vectors, sums + vectors * distance);
}
#endif

}  // namespace

QUASAR_CLONES("avx512f", "avx2", "default") void add_scaled(size_t n, double a, const double* x, double* y) {
  for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

void add_rows(size_t n, size_t rows, size_t count, const double* const* a, const double* x, std::ptrdiff_t stride,
              double* const* y) {
#ifdef QUASAR_WIDE
  if (runs_wide()) return add_rows_wide(n, rows, count, a, x, stride, y);
#endif
  add_rows_narrow(n, rows, count, a, x, stride, y);
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

void add_partial_dots(size_t n, size_t rows, size_t count, const double* x, size_t stride, const double* const* y, double* sums) {
#ifdef QUASAR_WIDE
  if (runs_wide()) return add_partial_dots_wide(n, rows, count, x, stride, y, sums);
#endif
  add_partial_dots_narrow(n, rows, count, x, stride, y, sums);
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
