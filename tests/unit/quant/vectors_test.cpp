// What several outputs share is added up in the order in which each would do it alone, bit for bit.
#include "quasar/quant/codes/vectors.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "quasar/base/rng.hpp"

namespace quasar::quant {
namespace {

std::vector<double> random_values(size_t count, uint64_t seed) {
  Rng rng(seed);
  std::vector<double> out(count);
  for (double& value : out) value = rng.normal();
  return out;
}

struct Several {
  Several(size_t count, size_t n, uint64_t seed) {
    for (size_t t = 0; t < count; t++) vectors.push_back(random_values(n, seed + t));
  }
  std::vector<double*> pointers() {
    std::vector<double*> out;
    for (auto& one : vectors) out.push_back(one.data());
    return out;
  }
  std::vector<std::vector<double>> vectors;
};

const std::vector<size_t> counts{1, 2, 3, 4, 5, 7, 16}, lengths{0, 1, 7, 8, 9, 64, 131, 291};

TEST(Vectors, RowsAreAddedAsOneByOne) {
  constexpr size_t rows = 11, stride = 300;
  const std::vector<double> x = random_values(rows * stride, 1);
  for (const size_t count : counts) {
    for (const size_t n : lengths) {
      for (const bool backwards : {false, true}) {
        Several factors(count, rows, 2), sums(count, n, 100), alone(count, n, 100);
        const auto a = factors.pointers();
        const double* const begin = x.data() + (backwards ? (rows - 1) * stride : 0);
        const auto step = static_cast<std::ptrdiff_t>(stride) * (backwards ? -1 : 1);
        add_rows(n, rows, count, a.data(), begin, step, sums.pointers().data());
        for (size_t t = 0; t < count; t++) {
          for (size_t r = 0; r < rows; r++)
            add_scaled(n, factors.vectors[t][r], begin + static_cast<std::ptrdiff_t>(r) * step, alone.vectors[t].data());
        }
        EXPECT_EQ(sums.vectors, alone.vectors) << count << " vectors of " << n;
      }
    }
  }
}

TEST(Vectors, ChosenRowsAreAddedAsOneByOne) {
  constexpr size_t stride = 300;
  for (const size_t rows : {0U, 1U, 3U, 4U, 5U, 9U}) {
    for (const size_t n : lengths) {
      const std::vector<double> x = random_values(10 * stride, 1), factors = random_values(10, 2);
      std::vector<double> sums = random_values(n, 3), alone = sums;
      std::vector<const double*> chosen;
      for (size_t r = 0; r < rows; r++) chosen.push_back(x.data() + (rows - r) * stride);
      add_chosen_rows(n, rows, factors.data(), chosen.data(), sums.data());
      for (size_t r = 0; r < rows; r++) add_scaled(n, factors[r], chosen[r], alone.data());
      EXPECT_EQ(sums, alone) << rows << " rows of " << n;
    }
  }
}

TEST(Vectors, DotsInTwoPartsAreDotsInOne) {
  constexpr size_t rows = 5, stride = 140, n = 133;
  const std::vector<double> x = random_values(rows * stride, 1);
  for (const size_t count : counts) {
    Several others(count, n, 2);
    const auto pointers = others.pointers();
    for (const size_t done : {0U, 8U, 64U, 128U}) {
      std::vector<double> sums(count * rows * 8, 0);
      add_partial_dots(done, rows, count, x.data(), stride, pointers.data(), sums.data());
      for (size_t t = 0; t < count; t++) {
        for (size_t r = 0; r < rows; r++) {
          const double* const row = x.data() + r * stride;
          EXPECT_EQ(finish_dot(sums.data() + (t * rows + r) * 8, done, n, row, pointers[t]), dot(n, row, pointers[t]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace quasar::quant
