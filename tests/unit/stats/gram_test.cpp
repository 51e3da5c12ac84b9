#include "quasar/stats/gram.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "quasar/base/rng.hpp"

namespace quasar::stats {
namespace {

TEST(AddProducts, EqualsPlainSumsForAllSizes) {
  Rng rng(1);
  struct Case {
    size_t rows, others, length;
  };
  for (const auto& [rows, others, length] :
       {Case{1, 1, 1}, {3, 4, 8}, {7, 9, 17}, {5, 101, 1030}, {2, 6, 2500}, {19, 104, 1030}}) {
    const size_t stride = length + 3;
    std::vector<float> a(rows * stride), b(others * stride);
    for (auto& value : a) value = static_cast<float>(rng.normal());
    for (auto& value : b) value = static_cast<float>(rng.normal());
    std::vector<double> sums(rows * (others + 2), 0.5);
    add_products({a.data(), stride, rows}, {b.data(), stride, others}, length, sums.data(), others + 2);
    for (size_t i = 0; i < rows; i++) {
      for (size_t j = 0; j < others; j++) {
        double expected = 0.5;
        for (size_t p = 0; p < length; p++) expected += double(a[i * stride + p]) * double(b[j * stride + p]);
        EXPECT_NEAR(sums[i * (others + 2) + j], expected, 2e-4) << rows << " " << others << " " << length;
        double alone = 0.5;
        add_products({a.data() + i * stride, stride, 1}, {b.data() + j * stride, stride, 1}, length, &alone, 1);
        EXPECT_EQ(sums[i * (others + 2) + j], alone) << "bit by bit, whichever rows are taken together";
      }
      EXPECT_EQ(sums[i * (others + 2) + others], 0.5);
    }
  }
}

}  // namespace
}  // namespace quasar::stats
