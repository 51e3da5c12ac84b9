#include "quasar/runtime/output_distance.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace quasar::tune {
namespace {

TEST(OutputDistance, IsTheNormOfAllDifferencesTogether) {
  const std::vector<Tensor> a{Tensor::of<float>({2}, {1, 2}), Tensor::of<float>({1}, {5})};
  const std::vector<Tensor> b{Tensor::of<float>({2}, {1, 5}), Tensor::of<float>({1}, {1})};
  EXPECT_DOUBLE_EQ(output_distance(a, b), 5);
  EXPECT_EQ(output_distance(a, a), 0);
  EXPECT_EQ(output_distance({Tensor::scalar(int64_t{1})}, {Tensor::scalar(int64_t{7})}), 0) << "no floats";
  EXPECT_EQ(output_distance(a, {Tensor::of<float>({1}, {1}), Tensor::of<float>({1}, {5})}), HUGE_VAL) << "other sizes";
}

}  // namespace
}  // namespace quasar::tune
