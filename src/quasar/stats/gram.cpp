#include "quasar/stats/gram.hpp"

#include <algorithm>

#include "quasar/base/cpu_dispatch.hpp"

namespace quasar::stats {
namespace {

constexpr size_t gram_lanes = 8;
constexpr size_t run = 1024, gram_block = 96;  // so many elements of so many rows stay in the second-level cache
typedef float GramFloats __attribute__((vector_size(gram_lanes * sizeof(float))));
// Read by its address: GCC (12) copies by memcpy in halves through the stack, and waits for them there.
typedef float GramFloatsThere __attribute__((vector_size(gram_lanes * sizeof(float)), aligned(alignof(float)), may_alias));

[[gnu::always_inline]] inline const GramFloatsThere& floats_at(const float* from) {
  return *reinterpret_cast<const GramFloatsThere*>(from);
}

// One tile of products over one run. The tile's partial sums stay in registers.
template <size_t m, size_t n>
[[gnu::always_inline]] inline void tile(const float* a, size_t a_stride, const float* b, size_t b_stride, size_t length,
                                        double* sums, size_t stride) {
  GramFloats partial[m][n] = {};
  size_t p = 0;
  for (; p + gram_lanes <= length; p += gram_lanes) {
    GramFloats x[m];
    for (size_t i = 0; i < m; i++) x[i] = floats_at(a + i * a_stride + p);
    for (size_t j = 0; j < n; j++) {
      const GramFloats y = floats_at(b + j * b_stride + p);
      for (size_t i = 0; i < m; i++) partial[i][j] += x[i] * y;
    }
  }
  for (size_t i = 0; i < m; i++) {
    for (size_t j = 0; j < n; j++) {
      const GramFloats& s = partial[i][j];
      float sum = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
      for (size_t q = p; q < length; q++) sum += a[i * a_stride + q] * b[j * b_stride + q];
      sums[i * stride + j] += static_cast<double>(sum);
    }
  }
}

// A strip of m rows of a against all rows of b.
template <size_t m>
[[gnu::always_inline]] inline void strip(const float* a, size_t a_stride, const Rows& b, size_t begin, size_t length,
                                         double* sums, size_t stride) {
  size_t j = 0;
  for (; j + 4 <= b.count; j += 4) tile<m, 4>(a, a_stride, b.data + j * b.stride + begin, b.stride, length, sums + j, stride);
  for (; j < b.count; j++) tile<m, 1>(a, a_stride, b.data + j * b.stride + begin, b.stride, length, sums + j, stride);
}

// All rows of a against these rows of b, over one run. x86-64-v4: avx512f alone would leave half of the vector registers unused.
QUASAR_CLONES("arch=x86-64-v4", "avx2", "default")
void add_narrow(const Rows& a, const Rows& part, size_t begin, size_t length, double* sums, size_t stride) {
  size_t i = 0;
  for (; i + 3 <= a.count; i += 3)
    strip<3>(a.data + i * a.stride + begin, a.stride, part, begin, length, sums + i * stride, stride);
  for (; i < a.count; i++) strip<1>(a.data + i * a.stride + begin, a.stride, part, begin, length, sums + i * stride, stride);
}

#ifdef QUASAR_WIDE
// Two rows of a stand side by side in vectors of 64 bytes, so that each product has the partial sums that it has above.
typedef float TwoGramFloats __attribute__((vector_size(2 * gram_lanes * sizeof(float))));
constexpr size_t wide_rows = 8, wide_columns = 6;  // 24 sums, 4 vectors of a and one of b: registers are 32

QUASAR_WIDE inline TwoGramFloats side_by_side(const float* a, const float* b) {
  const GramFloats x = floats_at(a), y = floats_at(b);  // copies: these addresses are not aligned
  return __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

QUASAR_WIDE void add_wide_products(const float* a, size_t a_stride, const float* b, size_t b_stride, size_t length, double* sums,
                                   size_t stride) {
  constexpr size_t pairs = wide_rows / 2;
  TwoGramFloats partial[pairs][wide_columns] = {};
  size_t p = 0;
  for (; p + gram_lanes <= length; p += gram_lanes) {
    TwoGramFloats x[pairs];
    for (size_t i = 0; i < pairs; i++) x[i] = side_by_side(a + 2 * i * a_stride + p, a + (2 * i + 1) * a_stride + p);
    for (size_t j = 0; j < wide_columns; j++) {
      const TwoGramFloats y = side_by_side(b + j * b_stride + p, b + j * b_stride + p);
      for (size_t i = 0; i < pairs; i++) partial[i][j] += x[i] * y;
    }
  }
  for (size_t i = 0; i < wide_rows; i++) {
    for (size_t j = 0; j < wide_columns; j++) {
      const float* const s = reinterpret_cast<const float*>(&partial[i / 2][j]) + i % 2 * gram_lanes;
      float sum = ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]));
      for (size_t q = p; q < length; q++) sum += a[i * a_stride + q] * b[j * b_stride + q];
      sums[i * stride + j] += static_cast<double>(sum);
    }
  }
}

void add_wide(const Rows& a, const Rows& part, size_t begin, size_t length, double* sums, size_t stride) {
  const size_t rows = a.count / wide_rows * wide_rows, columns = part.count / wide_columns * wide_columns;
  for (size_t i = 0; i < rows; i += wide_rows) {
    for (size_t j = 0; j < columns; j += wide_columns)
      add_wide_products(a.data + i * a.stride + begin, a.stride, part.data + j * part.stride + begin, part.stride, length,
                        sums + i * stride + j, stride);
  }
  if (columns < part.count)
    add_narrow({a.data, a.stride, rows}, part.from(columns, part.count - columns), begin, length, sums + columns, stride);
  if (rows < a.count) add_narrow(a.from(rows, a.count - rows), part, begin, length, sums + rows * stride, stride);
}
#endif

}  // namespace

void add_products(const Rows& a, const Rows& b, size_t length, double* sums, size_t stride) {
  for (size_t begin = 0; begin < length; begin += run) {
    const size_t count = std::min(run, length - begin);
    for (size_t first = 0; first < b.count; first += gram_block) {
      const Rows part = b.from(first, std::min(gram_block, b.count - first));
#ifdef QUASAR_WIDE
      if (runs_wide()) {
        add_wide(a, part, begin, count, sums + first, stride);
        continue;
      }
#endif
      add_narrow(a, part, begin, count, sums + first, stride);
    }
  }
}

}  // namespace quasar::stats
