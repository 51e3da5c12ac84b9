#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "quasar/base/rng.hpp"
#include "quasar/eval/evaluate.hpp"

namespace quasar::eval {
namespace {

// Newcombe 1998, Statistics in Medicine 17, table I, method 3.
TEST(Wilson, PublishedValues) {
  const std::vector<std::tuple<double, double, double, double>> table = {
      {81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}, {8, 10, 0.4902, 0.9433}};
  for (const auto& [successes, n, low, high] : table) {
    EXPECT_NEAR(wilson(successes, n).first, low, 6e-5) << successes;
    EXPECT_NEAR(wilson(successes, n).second, high, 6e-5) << successes;
  }
  EXPECT_EQ(wilson(0, 0), (std::pair<double, double>{0, 1}));
}

TEST(Wilson, IsSymmetricAndHoldsTheShare) {
  rc::check([] {
    const auto n = *rc::gen::inRange(1, 2000);
    const auto successes = *rc::gen::inRange(0, n + 1);
    const auto [low, high] = wilson(successes, n);
    const auto [other_low, other_high] = wilson(n - successes, n);
    RC_ASSERT(low >= 0 && high <= 1 && low <= double(successes) / n + 1e-12 && high >= double(successes) / n - 1e-12);
    RC_ASSERT(std::abs(low - (1 - other_high)) < 1e-12 && std::abs(high - (1 - other_low)) < 1e-12);
  });
}

TEST(Bootstrap, IsDeterministicAndFollowsTheNormalApproximation) {
  Rng rng(3);
  std::vector<double> values(400);
  double mean = 0, square = 0;
  for (auto& value : values) {
    value = rng.normal() * 2 + 5;
    mean += value / 400;
  }
  for (const double value : values) square += (value - mean) * (value - mean) / 400;
  const double error = std::sqrt(square / 400);
  const auto [low, high] = bootstrap(values);
  EXPECT_EQ(bootstrap(values), (std::pair{low, high}));
  EXPECT_NE(bootstrap(values, 1), (std::pair{low, high}));
  EXPECT_NEAR(low, mean - 1.96 * error, 0.2 * error);
  EXPECT_NEAR(high, mean + 1.96 * error, 0.2 * error);
  EXPECT_EQ(bootstrap({3, 3, 3}), (std::pair{3.0, 3.0}));
  EXPECT_EQ(bootstrap({}), (std::pair{0.0, 0.0}));
}

}  // namespace
}  // namespace quasar::eval
