// Loops over vectors of doubles that rounding spends its time in. Sums are formed in one order, whatever the processor.
#pragma once

#include <cstddef>

namespace quasar::quant {

// y += a · x, n elements each.
void add_scaled(size_t n, double a, const double* x, double* y);

// y += a[0] · x + a[1] · (x + stride) + a[2] · (x + 2 stride) + a[3] · (x + 3 stride), from the left: as four calls of
// add_scaled().
void add_four_scaled(size_t n, const double a[4], const double* x, size_t stride, double* y);

// Σ x · y in 8 interleaved partial sums.
double dot(size_t n, const double* x, const double* y);

}  // namespace quasar::quant
