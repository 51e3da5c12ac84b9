// Stands for LAPACK in wheels. CBC's library CoinUtils factorizes small dense matrices by two functions of it; the real one would
// bring four libraries of 11 MB. Both are as LAPACK has them: columns one after another, pivots counted from 1.
#include <math.h>
#include <stddef.h>

void dgetrf_(const int* rows, const int* columns, double* a, const int* stride, int* pivots, int* info);
void dgetrs_(const char* transposed, const int* size, const int* count, const double* a, const int* stride, const int* pivots,
             double* b, const int* b_stride, int* info, size_t length);

static void exchange(double* a, double* b) {
  const double kept = *a;
  *a = *b;
  *b = kept;
}

// P A = L U by Gaussian elimination with the greatest pivot of each column; `info`: the first pivot that is 0, or 0.
void dgetrf_(const int* rows, const int* columns, double* a, const int* stride, int* pivots, int* info) {
  const ptrdiff_t m = *rows, n = *columns, s = *stride, least = m < n ? m : n;
  *info = 0;
  for (ptrdiff_t k = 0; k < least; k++) {
    ptrdiff_t pivot = k;
    for (ptrdiff_t i = k + 1; i < m; i++)
      if (fabs(a[i + k * s]) > fabs(a[pivot + k * s])) pivot = i;
    pivots[k] = (int)pivot + 1;
    if (a[pivot + k * s] == 0) {
      if (*info == 0) *info = (int)k + 1;
      continue;
    }
    for (ptrdiff_t j = 0; pivot != k && j < n; j++) exchange(&a[k + j * s], &a[pivot + j * s]);
    for (ptrdiff_t i = k + 1; i < m; i++) a[i + k * s] /= a[k + k * s];
    for (ptrdiff_t j = k + 1; j < n; j++)
      for (ptrdiff_t i = k + 1; i < m; i++) a[i + j * s] -= a[i + k * s] * a[k + j * s];
  }
}

// A x = b, or Aᵀ x = b, from what dgetrf gave.
void dgetrs_(const char* transposed, const int* size, const int* count, const double* a, const int* stride, const int* pivots,
             double* b, const int* b_stride, int* info, size_t length) {
  (void)length;
  const ptrdiff_t n = *size, s = *stride;
  const int turned = *transposed != 'N' && *transposed != 'n';
  *info = 0;
  for (ptrdiff_t c = 0; c < *count; c++) {
    double* x = b + c * *b_stride;
    if (!turned) {
      for (ptrdiff_t i = 0; i < n; i++) exchange(&x[i], &x[pivots[i] - 1]);
      for (ptrdiff_t j = 0; j < n; j++)
        for (ptrdiff_t i = j + 1; i < n; i++) x[i] -= a[i + j * s] * x[j];
      for (ptrdiff_t j = n - 1; j >= 0; j--) {
        x[j] /= a[j + j * s];
        for (ptrdiff_t i = 0; i < j; i++) x[i] -= a[i + j * s] * x[j];
      }
    } else {
      for (ptrdiff_t j = 0; j < n; j++) {
        for (ptrdiff_t i = 0; i < j; i++) x[j] -= a[i + j * s] * x[i];
        x[j] /= a[j + j * s];
      }
      for (ptrdiff_t j = n - 1; j >= 0; j--)
        for (ptrdiff_t i = j + 1; i < n; i++) x[j] -= a[i + j * s] * x[i];
      for (ptrdiff_t i = n - 1; i >= 0; i--) exchange(&x[i], &x[pivots[i] - 1]);
    }
  }
}
