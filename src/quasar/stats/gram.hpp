// Sums of products of rows, what Gram matrices are made of:  S_ij += Σ_p a_i(p) · b_j(p).
#pragma once

#include <cstddef>

namespace quasar::stats {

// Rows of equal length at a constant distance in memory.
struct Rows {
  const float* data = nullptr;
  size_t stride = 0;  // elements from one row to the next
  size_t count = 0;   // number of rows

  Rows from(size_t first, size_t rows) const { return {data + first * stride, stride, rows}; }
};

// Adds the products of all pairs of rows over `length` elements to sums [a.count, b.count], whose rows are `stride` apart.
// Runs of up to 1024 elements are summed in single precision (8 interleaved partial sums), runs in double; the order is fixed.
void add_products(const Rows& a, const Rows& b, size_t length, double* sums, size_t stride);

}  // namespace quasar::stats
