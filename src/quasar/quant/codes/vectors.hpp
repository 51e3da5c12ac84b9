// Loops over vectors of doubles that rounding spends its time in. Sums are formed in one order, whatever the processor.
#pragma once

#include <cstddef>

namespace quasar::quant {

// y += a · x, n elements each.
void add_scaled(size_t n, double a, const double* x, double* y);

// y[t] += a[t][0] · x + a[t][1] · (x + stride) + …, `rows` summands, from the left: as that many calls of add_scaled(), for each
// t of `count` ≤ most_together vectors, which share what is read of x.
inline constexpr size_t most_together = 4;
void add_rows(size_t n, size_t rows, size_t count, const double* const* a, const double* x, std::ptrdiff_t stride,
              double* const* y);

// y += a[0] · x[0] + a[1] · x[1] + …, `rows` summands, from the left.
void add_chosen_rows(size_t n, size_t rows, const double* a, const double* const* x, double* y);

// Σ x · y in 8 interleaved partial sums.
double dot(size_t n, const double* x, const double* y);

// The partial sums of dot() over n elements, a multiple of 8, added to sums[t][row][8]: `rows` vectors x, `stride` apart, with
// each of `count` vectors y.
void add_partial_dots(size_t n, size_t rows, size_t count, const double* x, size_t stride, const double* const* y, double* sums);

// dot() of which the partial sums over the first `done` elements, a multiple of 8, are known.
double finish_dot(const double partial[8], size_t done, size_t n, const double* x, const double* y);

}  // namespace quasar::quant
