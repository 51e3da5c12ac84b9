#include "quasar/quant/codes/vectors.hpp"

#include "quasar/base/cpu_dispatch.hpp"

namespace quasar::quant {

QUASAR_CLONES("avx512f", "avx2", "default") void add_scaled(size_t n, double a, const double* x, double* y) {
  for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

QUASAR_CLONES("avx512f", "avx2", "default")
void add_four_scaled(size_t n, const double a[4], const double* x, size_t stride, double* y) {
  const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
  const double *x1 = x + stride, *x2 = x1 + stride, *x3 = x2 + stride;
  for (size_t i = 0; i < n; i++) y[i] = (((y[i] + a0 * x[i]) + a1 * x1[i]) + a2 * x2[i]) + a3 * x3[i];
}

QUASAR_CLONES("avx512f", "avx2", "default") double dot(size_t n, const double* x, const double* y) {
  double partial[8] = {};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t l = 0; l < 8; l++) partial[l] += x[i + l] * y[i + l];
  }
  double sum = 0;
  for (const double value : partial) sum += value;
  for (; i < n; i++) sum += x[i] * y[i];
  return sum;
}

}  // namespace quasar::quant
